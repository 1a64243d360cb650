//! The application's clock: stands at the fill's "present" when the stores are first used after loading, and
//! runs in real time from there. All nodes share it: a node learns the elapsed time when it registers.

use std::time::Duration;

use barograph_auction_api::Millis;
use barograph_auction_store::CLOCK_START_MS;
use tokio::time::Instant;

/// A clock that follows the runtime's time, so that tests can control it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    at_start: Millis,
}

impl Clock {
    /// A clock that now shows [`CLOCK_START_MS`] plus `since_start_ms`.
    pub(crate) fn start(since_start_ms: i64) -> Self {
        Clock { start: Instant::now(), at_start: CLOCK_START_MS + since_start_ms }
    }

    /// The present time.
    pub(crate) fn now(&self) -> Millis {
        self.at_start + Millis::try_from(self.start.elapsed().as_millis()).unwrap_or(Millis::MAX / 2)
    }

    /// The instant `duration` from now.
    pub(crate) fn after(&self, duration: Duration) -> Instant {
        Instant::now() + duration
    }

    /// The instant at which the clock shows `at`; a past instant for times before the start.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        let since = u64::try_from(at - self.at_start).unwrap_or(0);
        self.start + Duration::from_millis(since)
    }
}
