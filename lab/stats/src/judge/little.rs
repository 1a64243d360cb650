//! Little's law: the mean number in flight is throughput times mean service time, or somebody counted wrong.
//!
//! Its sides come from different counters of the engine: a running number of operations in progress, and the end of each
//! operation. A short window has operations that straddle its edges, which the law knows nothing of; a third counter says how
//! old those are. With it the law holds to the last digit, so operations that end twice, are timed wrongly or are lost from one
//! of the counters part the sides however few they are. An operation that never ends is in progress for all of them: pacing,
//! the users present and its timeout tell of that, not this law.

use barograph_model::{Check, CheckFacts, CheckId};

use super::WindowInput;
use crate::OpStats;

/// The sides may differ by this part. They are sums of exact times; the record and the wire round them far below it.
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
