//! Deadlines.

use std::time::Duration;

use tokio::time::Instant;

/// An instant at which a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// Makes a deadline `wait` from now.
    pub(crate) fn after(wait: Duration) -> Self {
        Deadline(Instant::now() + wait)
    }

    /// Whether it has passed.
    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}
