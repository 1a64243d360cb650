//! Time limits, and errors that are neither product's own.

use std::future::Future;
use std::time::Duration;

use barograph_auction_store::StoreError;

/// How long one answer may take, waiting for a connection included. A node whose store is slower than this is of no use
/// to its users, who are told to come back.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How long a statement may take that reads or writes a whole collection: loading, and the data checks.
pub(crate) const BULK_LIMIT: Duration = Duration::from_secs(600);

/// How long making a connection may take: more than the pauses of a busy machine, and less than an answer may take.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How often an operation is tried that lost a race against another one; each try needs another lost race.
pub(crate) const RACES: usize = 8;

/// What a change that gets no answer in time means: the store may have it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing is changed.
    Read,
    /// Something may have been changed.
    Write,
}

/// What is being done, to which store, for the words of errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed {
    pub(crate) store: &'static str,
    /// Completes "failed to".
    pub(crate) what: &'static str,
    pub(crate) access: Access,
    pub(crate) limit: Duration,
}

impl Deed {
    /// An error that trying again may cure.
    pub(crate) fn lost(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        match self.access {
            Access::Read => StoreError::Unreachable { store: self.store, source },
            Access::Write => StoreError::Unknown { store: self.store, source },
        }
    }

    /// An error for which nothing was changed, and that trying again may cure.
    pub(crate) fn unreachable(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Unreachable { store: self.store, source }
    }

    pub(crate) fn refused(self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Refused { store: self.store, what: self.what, source }
    }

    /// Waits for an answer, but not longer than the deed allows.
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

/// A refusal in our own words.
pub(crate) fn refused(store: &'static str, what: &'static str, why: impl Into<String>) -> StoreError {
    StoreError::Refused { store, what, source: why.into().into() }
}
