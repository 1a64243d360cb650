//! Transactions: their kinds and errors, the same on all engines.

use barograph_model::Outcome;

/// The kind of a transaction: with or without writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Without writes.
    Read,
    /// With writes.
    Write,
}

/// The error of a transaction. The caller rolls the transaction back.
#[derive(Debug, PartialEq, Eq)]
pub enum TransactionError {
    /// A conflict with another transaction: the whole transaction may be tried again.
    Conflict(Conflict),
    /// A failure.
    Failed {
        /// The outcome of the operation.
        outcome: Outcome,
        /// The cause in words.
        why: String,
    },
}

impl TransactionError {
    /// A row that the workload needs is missing.
    #[must_use]
    pub fn missing(what: &str) -> Self {
        TransactionError::Failed { outcome: Outcome::WrongAnswer, why: format!("no {what}") }
    }
}

/// Kinds of conflicts between transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A lock was not free in time.
    Busy,
    /// The snapshot of the transaction is outdated.
    Snapshot,
    /// Transactions wait for each other.
    Deadlock,
}

/// The result of a statement.
pub type Reply<T> = Result<T, TransactionError>;
