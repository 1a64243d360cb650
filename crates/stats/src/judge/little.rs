//! Little's law: the mean number in flight is throughput times mean service time, or somebody counted wrong.
//!
//! Its sides come from different counters of the engine: a running number of operations in progress, and the end of each
//! operation. A short window has operations that straddle its edges, which the law knows nothing of; a third counter says how
//! old those are. With it the law holds to the last digit, so operations that end twice, are timed wrongly or are lost from one
//! of the counters part the sides however few they are. An operation that never ends is in progress for all of them: pacing,
//! the users present and its timeout tell of that, not this law.

use barograph_model::Check;

use super::WindowInput;
use crate::OpStats;

/// The sides may differ by this part. They are sums of exact times; the record and the wire round them far below it.
const TOLERANCE: f64 = 0.01;

pub(super) fn check(input: &WindowInput<'_>) -> Check {
    let name = "Little's law".to_owned();
    let seconds = input.joined.seconds();
    let in_flight = input.joined.in_flight_s;
    let served: f64 = input.joined.ops.iter().map(|op| op.service_sum_s + op.cancelled_sum_s).sum();
    let count: u64 = input.joined.ops.iter().map(OpStats::count).sum();
    if seconds <= 0.0 || count == 0 {
        return Check { name, found: "no operation ended".to_owned(), allowed: "some".to_owned(), ok: false };
    }
    let straddle = input.joined.aged_s;
    let larger = in_flight.max(served).max(f64::MIN_POSITIVE);
    let differs = (in_flight - straddle - served).abs() / larger;
    Check {
        name,
        found: format!(
            "{:.2} in flight, throughput x service time {:.2}, over the edges {:.2}: {:.1} % apart",
            in_flight / seconds,
            served / seconds,
            straddle / seconds,
            differs * 100.0
        ),
        allowed: format!("at most {:.0} % apart", TOLERANCE * 100.0),
        ok: differs <= TOLERANCE,
    }
}
