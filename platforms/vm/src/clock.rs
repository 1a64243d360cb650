//! Clocks: one for deadlines and durations, one by which a guest's clock is set.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Returns the monotonic time, for waits and durations.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now()
}

/// Returns the time of day.
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// Returns nanoseconds since 1970; negative only if the machine's clock was never set.
pub(crate) fn now_nanos() -> i64 {
    let since = time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
