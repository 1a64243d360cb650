//! How long something may still take.

use std::time::Duration;

use tokio::time::Instant;

/// An instant after which nobody waits any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub(crate) fn after(wait: Duration) -> Self {
        Deadline(Instant::now() + wait)
    }

    /// Whether it is over.
    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}
