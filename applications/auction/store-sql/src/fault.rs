//! Failures of a connection, before their meaning for the caller is known.

use barograph_auction_store::StoreError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failure, by its remedy.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A unique value is taken.
    Conflict,
    /// The server undid the transaction in favour of another one: a repetition is sensible.
    Again(Source),
    /// The connection is unusable.
    Lost(Source),
    /// The server refused.
    Refused(Source),
    /// No connection became free in time.
    Full,
}

/// Whether a change may have reached the server before its connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitProgress {
    /// No commit was sent.
    Nothing,
    /// A commit was sent and not answered.
    Commit,
}

impl Fault {
    /// Whether another connection may help at once; not after a silence of the server as long as the time
    /// limit.
    pub(crate) fn is_of_one_connection(&self) -> bool {
        matches!(self, Fault::Lost(source) if !source.is::<AnswerTimeout>())
    }

    /// Converts to the error of the interface.
    pub(crate) fn into_error(
        self,
        store: &'static str,
        what: &'static str,
        sent: CommitProgress,
    ) -> StoreError {
        match self {
            Fault::Conflict => StoreError::Conflict,
            Fault::Full => StoreError::Full,
            // Undone by the server in every try, so nothing of it is there.
            Fault::Again(source) => StoreError::Unreachable { store, source },
            Fault::Refused(source) => StoreError::Refused { store, what, source },
            Fault::Lost(source) => match sent {
                CommitProgress::Nothing => StoreError::Unreachable { store, source },
                CommitProgress::Commit => StoreError::Unknown { store, source },
            },
        }
    }
}

/// The server did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("it did not answer within {seconds} s")]
pub(crate) struct AnswerTimeout {
    pub(crate) seconds: u64,
}

/// A value of another kind than the column's.
#[derive(Debug, thiserror::Error)]
#[error("column {column} of an answer holds something else than it should")]
pub(crate) struct UnexpectedValue {
    pub(crate) column: usize,
}

/// A fault of the store or its address, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct StoreMessage(pub(crate) String);
