//! Little's law: the mean number in flight is throughput times mean service time, or somebody counted wrong.
//!
//! Both sides are taken from different counters of the engine (a running number of operations in progress; the end of each
//! operation), so operations that are lost, counted twice or timed wrongly part them.

use barograph_model::Check;

use super::WindowInput;
use super::checks::edge_growth;
use crate::OpStats;

/// The two sides may differ by this part, beside what the edges make: with 5 % one clean window of the auction in thirty was
/// disbelieved (`cargo xtask simulate gates`).
const TOLERANCE: f64 = 0.08;

/// Chance exceeds so many standard deviations once in a thousand windows.
const CHANCE: f64 = 3.29;

pub(super) fn check(input: &WindowInput<'_>) -> Check {
    let name = "Little's law".to_owned();
    let seconds = input.joined.seconds();
    let in_flight = input.joined.in_flight_s;
    let served: f64 = input.joined.ops.iter().map(|op| op.service_sum_s + op.cancelled_sum_s).sum();
    let count: u64 = input.joined.ops.iter().map(OpStats::count).sum();
    if seconds <= 0.0 || count == 0 {
        return Check { name, found: "no operation ended".to_owned(), allowed: "some".to_owned(), ok: false };
    }
    let larger = in_flight.max(served).max(f64::MIN_POSITIVE);
    let differs = (in_flight - served).abs() / larger;
    let growth = edge_growth(input.parts) * (served / count as f64) / larger;
    let allowed = TOLERANCE + growth + straddling(input, in_flight / seconds) / larger;
    Check {
        name,
        found: format!(
            "{:.2} in flight, throughput x service time {:.2}: {:.1} % apart",
            in_flight / seconds,
            served / seconds,
            differs * 100.0
        ),
        allowed: format!("at most {:.1} % apart", allowed * 100.0),
        ok: differs <= allowed,
    }
}

/// By how many seconds the two sides differ because operations straddle the edges of the window. What such an operation did
/// before the window is in its service time, what it does after is in flight without an end; on the average the two cancel
/// out. What is left is chance: at each edge as many as are in flight, each with what an operation that is met at a random
/// instant has behind it, whose mean square is a third of the mean cube of service times over their mean (renewal theory).
fn straddling(input: &WindowInput<'_>, in_flight: f64) -> f64 {
    let (mut sum, mut cubes) = (0.0, 0.0);
    for op in &input.joined.ops {
        for bucket in op.service.iter_recorded() {
            let (n, seconds) = (f64::from(bucket.count_at_value()), bucket.value_iterated_to() as f64 / 1e6);
            sum += n * seconds;
            cubes += n * seconds * seconds * seconds;
        }
    }
    if sum <= 0.0 {
        return 0.0;
    }
    CHANCE * (2.0 * in_flight * cubes / (3.0 * sum)).sqrt()
}
