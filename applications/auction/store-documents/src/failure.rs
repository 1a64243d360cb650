//! Time limits, and errors common to both products.

use std::future::Future;
use std::time::Duration;

use barograph_auction_store::StoreError;

/// Time limit of one answer, including the wait for a connection. A node with a slower store is useless to
/// its users, who get an error and come back later.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Time limit of a statement that reads or writes a whole collection: loading, and the data checks.
pub(crate) const BULK_LIMIT: Duration = Duration::from_secs(600);

/// Time limit of a connection attempt: more than the pauses of a busy machine, and less than the limit of an
/// answer.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Tries of an operation that lost a race against another one; each try needs another lost race.
pub(crate) const RACES: usize = 8;

/// Meaning of a missing answer: after a write, the store may have the change or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing is changed.
    Read,
    /// Something may have been changed.
    Write,
}

/// An operation and its store, for the words of errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreAction {
    pub(crate) store: &'static str,
    /// Completes "failed to".
    pub(crate) what: &'static str,
    pub(crate) access: Access,
    pub(crate) limit: Duration,
}

impl StoreAction {
    /// An error that a retry may cure.
    pub(crate) fn lost(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        match self.access {
            Access::Read => StoreError::Unreachable { store: self.store, source },
            Access::Write => StoreError::Unknown { store: self.store, source },
        }
    }

    /// An error without any change, that a retry may cure.
    pub(crate) fn unreachable(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Unreachable { store: self.store, source }
    }

    pub(crate) fn refused(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Refused { store: self.store, what: self.what, source }
    }

    /// Waits for an answer, within the time limit of the operation.
    pub(crate) async fn within<T>(
        self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(self.limit, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(self.lost(format!("no answer to `{}` in {} s", self.what, self.limit.as_secs()).into()))
            }
        }
    }
}

/// A refusal in this crate's words.
pub(crate) fn refused(store: &'static str, what: &'static str, why: impl Into<String>) -> StoreError {
    StoreError::Refused { store, what, source: why.into().into() }
}
