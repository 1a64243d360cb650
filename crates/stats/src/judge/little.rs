//! Little's law: the mean number in flight is throughput times mean service time, or somebody counted wrong.
//!
//! Both sides are taken from different counters of the engine (a running number of operations in progress; the end of each
//! operation), so operations that are lost, counted twice or timed wrongly part them.

use barograph_model::Check;

use super::WindowInput;
use super::checks::edge_growth;
use crate::OpStats;

/// The two sides may differ by this part, beside what the edges make (`cargo xtask simulate gates` says how often clean
/// windows exceed both).
const TOLERANCE: f64 = 0.05;

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
    let allowed = TOLERANCE + growth + straddling(&input.joined.ops, in_flight / seconds) / larger;
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
/// before the window is in its service time, what it did until the end of the window is in flight without an end; on the
/// average the two cancel out. What is left is chance: at each edge there are as many as are in flight, and each has an age.
/// Of an operation that is met at a random instant the mean square of its age is `E[S^3] / (3 E[S])`, and as many ages as come
/// by chance have a sum whose variance is their number times that.
fn straddling(ops: &[OpStats], in_flight: f64) -> f64 {
    let (mut sum, mut cubes) = (0.0, 0.0);
    for op in ops {
        for bucket in op.service.iter_recorded() {
            let (n, seconds) = (f64::from(bucket.count_at_value()), bucket.value_iterated_to() as f64 / 1e6);
            sum += n * seconds;
            cubes += n * seconds.powi(3);
        }
    }
    if sum <= 0.0 {
        return 0.0;
    }
    CHANCE * (2.0 * in_flight * cubes / (3.0 * sum)).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const WINDOWS: u64 = 600;
    const SECONDS: f64 = 60.0;
    const PER_SECOND: f64 = 20.0;

    /// Independent operations from long before the window on: by how many seconds its two sides differ.
    fn apart(seed: u64, takes: fn(f64) -> f64, ops: &mut OpStats) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut at, mut in_flight, mut served) = (-60.0, 0.0, 0.0);
        while at < SECONDS {
            let (from, service) = (at, takes(rng.random::<f64>()));
            let to = from + service;
            in_flight += (to.min(SECONDS) - from.max(0.0)).max(0.0);
            if (0.0..SECONDS).contains(&to) {
                served += service;
                ops.service.saturating_record((service * 1e6) as u64);
            }
            at -= (1.0 - rng.random::<f64>()).ln() / PER_SECOND;
        }
        in_flight - served
    }

    /// Exponential service times, equal ones, and mostly short ones with a few long.
    #[test]
    fn what_straddles_the_edges_is_as_far_apart_as_is_allowed() {
        let services: [fn(f64) -> f64; 3] =
            [|u: f64| -2.0 * (1.0 - u).ln(), |_| 3.0, |u: f64| if u < 0.9 { 0.1 } else { 8.0 }];
        for (which, takes) in services.into_iter().enumerate() {
            let mut ops = OpStats::new();
            let apart: Vec<f64> = (0..WINDOWS).map(|seed| apart(seed, takes, &mut ops)).collect();
            let square = apart.iter().map(|d| d * d).sum::<f64>() / WINDOWS as f64;
            let in_flight = PER_SECOND * ops.service.mean() / 1e6;
            let said = straddling(&[ops], in_flight) / CHANCE;
            assert!(
                (said / square.sqrt() - 1.0).abs() < 0.12,
                "{which}: {said} said, {} found",
                square.sqrt()
            );
        }
        assert_eq!(straddling(&[OpStats::new()], 5.0), 0.0);
    }
}
