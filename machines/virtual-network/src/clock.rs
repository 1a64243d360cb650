//! The clock of timers, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the monotonic clock in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * NANOS_PER_SECOND + u64::try_from(time.tv_nsec).unwrap_or(0)
}
