//! The application's clock: it stands at the fill's "present" when the application starts, and runs in real time.

use std::time::Duration;

use barograph_auction_api::Millis;
use tokio::time::Instant;

use crate::schema::CLOCK_START_MS;

/// The clock. It follows the runtime's time, so that tests can turn it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows [`CLOCK_START_MS`] now.
    pub(crate) fn start() -> Self {
        Clock { start: Instant::now() }
    }

    /// What it shows.
    pub(crate) fn now(&self) -> Millis {
        CLOCK_START_MS + Millis::try_from(self.start.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// The instant that far from now.
    pub(crate) fn after(&self, duration: Duration) -> Instant {
        Instant::now() + duration
    }

    /// The instant at which it shows `at`; one in the past for times before the start.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        let since = u64::try_from(at - CLOCK_START_MS).unwrap_or(0);
        self.start + Duration::from_millis(since)
    }
}
