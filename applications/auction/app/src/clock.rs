//! The application's clock: it stands at the fill's "present" when the stores were first used after they were loaded,
//! and runs in real time from there. All nodes share it: each is told how long that is ago when it enlists.

use std::time::Duration;

use barograph_auction_api::Millis;
use barograph_auction_store::CLOCK_START_MS;
use tokio::time::Instant;

/// The clock. It follows the runtime's time, so that tests can turn it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    at_start: Millis,
}

impl Clock {
    /// A clock that shows [`CLOCK_START_MS`] plus `since_start_ms` now.
    pub(crate) fn start(since_start_ms: i64) -> Self {
        Clock { start: Instant::now(), at_start: CLOCK_START_MS + since_start_ms }
    }

    /// What it shows.
    pub(crate) fn now(&self) -> Millis {
        self.at_start + Millis::try_from(self.start.elapsed().as_millis()).unwrap_or(Millis::MAX / 2)
    }

    /// The instant that far from now.
    pub(crate) fn after(&self, duration: Duration) -> Instant {
        Instant::now() + duration
    }

    /// The instant at which it shows `at`; one in the past for times before the start.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        let since = u64::try_from(at - self.at_start).unwrap_or(0);
        self.start + Duration::from_millis(since)
    }
}
