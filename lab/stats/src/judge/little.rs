//! Little's law: the mean number in flight equals throughput times mean service time, unless something was
//! counted wrongly.
//!
//! Its sides come from different counters of the engine: a running number of operations in progress, and the
//! end of each operation. A short window has operations that straddle its edges, which the law ignores; a
//! third counter holds their ages. With it the law holds exactly, so even a few operations that end twice,
//! are timed wrongly or are lost from one of the counters part the sides. An operation that never ends is in
//! progress for all counters: pacing, the number of users and its timeout show that, not this law.

use barograph_model::{Check, CheckFacts, CheckId};

use super::WindowInput;
use crate::OpStats;

/// Tolerance between the sides, as a part. They are sums of exact times; rounding in the record and on the
/// wire is far below it.
const TOLERANCE: f64 = 0.01;

pub(super) fn check(input: &WindowInput<'_>) -> Check {
    let seconds = input.joined.seconds();
    let in_flight = input.joined.in_flight_s;
    let served: f64 = input.joined.ops.iter().map(|op| op.service_sum_s + op.cancelled_sum_s).sum();
    let count: u64 = input.joined.ops.iter().map(OpStats::count).sum();
    if seconds <= 0.0 || count == 0 {
        return Check::new(CheckId::Little, CheckFacts::NothingEnded, false);
    }
    let straddle = input.joined.aged_s;
    let larger = in_flight.max(served).max(f64::MIN_POSITIVE);
    let apart = (in_flight - straddle - served).abs() / larger;
    let facts = CheckFacts::Little {
        in_flight: in_flight / seconds,
        served: served / seconds,
        over_edges: straddle / seconds,
        apart,
        most: TOLERANCE,
    };
    Check::new(CheckId::Little, facts, apart <= TOLERANCE)
}
