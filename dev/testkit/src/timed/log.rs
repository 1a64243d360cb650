//! Log of a timed server: counts, and one entry for every answer.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most answers kept, 32 MiB of them; a test with more must count by itself.
const MOST_KEPT: usize = 1 << 20;

/// One answer; all times are counted from the server's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerTimes {
    /// The number of its request among all, from 0.
    pub n: u64,
    /// Time at which the request was read.
    pub arrived: Duration,
    /// Due time of the answer.
    pub due: Duration,
    /// Time at which it was passed to the kernel.
    pub sent: Duration,
}

/// Log shared by the server's thread and the test.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) connections: AtomicU64,
    pub(super) arrived: AtomicU64,
    given: Mutex<List>,
}

/// The first answers, and the number of all.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) answered: u64,
    pub(super) first: Vec<AnswerTimes>,
}

impl Log {
    /// The locked list. The server holds the lock while it writes, so that every answer seen by a client is
    /// in it.
    pub(super) fn list(&self) -> MutexGuard<'_, List> {
        // A push that panicked left whole entries only.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    pub(super) fn add(&mut self, given: AnswerTimes) {
        if self.first.len() < MOST_KEPT {
            self.first.push(given);
        }
        self.answered += 1;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.first.len() as u64 == self.answered
    }
}
