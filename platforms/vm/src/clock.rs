//! The clocks: one for deadlines and for how long things took, one that a guest's is set by.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The time by which waits end and things are timed.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now()
}

/// The time of day.
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// Nanoseconds since 1970; the clock of a machine stands behind that only when it is not set at all.
pub(crate) fn now_nanos() -> i64 {
    let since = time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
