//! What can go wrong on a connection, before it is known what it means for the caller.

use barograph_auction_store::StoreError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failure, sorted by what can be done about it.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A unique value was taken.
    Conflict,
    /// The server undid the transaction so that another could go on: doing it again is sensible.
    Again(Source),
    /// The connection is of no use any more.
    Lost(Source),
    /// The server does not want to.
    Refused(Source),
    /// No connection became free in time.
    Full,
}

/// Whether a change may have reached the server when its connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Nothing that commits was sent.
    Nothing,
    /// A commit was sent and not answered.
    Commit,
}

impl Fault {
    /// Whether another connection may do better at once: not so when the server was silent for as long as is waited.
    pub(crate) fn is_of_one_connection(&self) -> bool {
        matches!(self, Fault::Lost(source) if !source.is::<Silent>())
    }

    /// The same in the words of the seam.
    pub(crate) fn into_error(self, store: &'static str, what: &'static str, sent: Sent) -> StoreError {
        match self {
            Fault::Conflict => StoreError::Conflict,
            Fault::Full => StoreError::Full,
            // Undone by the server every time it was tried, so nothing of it is there.
            Fault::Again(source) => StoreError::Unreachable { store, source },
            Fault::Refused(source) => StoreError::Refused { store, what, source },
            Fault::Lost(source) => match sent {
                Sent::Nothing => StoreError::Unreachable { store, source },
                Sent::Commit => StoreError::Unknown { store, source },
            },
        }
    }
}

/// The server did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("it did not answer within {seconds} s")]
pub(crate) struct Silent {
    pub(crate) seconds: u64,
}

/// A column held a value of another kind than it ever should.
#[derive(Debug, thiserror::Error)]
#[error("column {column} of an answer holds something else than it should")]
pub(crate) struct Strange {
    pub(crate) column: usize,
}

/// Something about the store or its address, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Told(pub(crate) String);
