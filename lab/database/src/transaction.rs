//! Transactions: their kinds and errors, the same on all engines.

use barograph_engine::OpContext;
use barograph_model::Outcome;

use crate::measures;

/// Tries of a transaction at the most.
const MOST_TRIES: u32 = 10;

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

/// A session in which transactions begin and end.
pub trait Transactions {
    /// Begins a transaction.
    fn begin(&mut self, access: Access, context: &mut OpContext) -> impl Future<Output = Reply<()>>;

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Reply<()>>;

    /// Rolls the transaction back, if one is open.
    fn roll_back(&mut self) -> impl Future<Output = Reply<()>>;
}

/// Tries a transaction until it meets no conflict, ten times at the most. Conflicts are counted by kind.
///
/// # Errors
/// Outcome and reason of a transaction that failed.
pub async fn with_retries<S: Transactions, T>(
    session: &mut S,
    context: &mut OpContext,
    mut attempt: impl AsyncFnMut(&mut S, &mut OpContext) -> Reply<T>,
) -> Result<T, (Outcome, String)> {
    for _ in 0..MOST_TRIES {
        context.sent();
        let trouble = match attempt(session, context).await {
            Ok(ended) => return Ok(ended),
            Err(trouble) => trouble,
        };
        match (session.roll_back().await, trouble) {
            (Ok(()), TransactionError::Conflict(conflict)) => context.add(measures::counter(conflict), 1),
            (Ok(()), TransactionError::Failed { outcome, why })
            | (Err(TransactionError::Failed { outcome, why }), _) => return Err((outcome, why)),
            (Err(TransactionError::Conflict(_)), _) => {
                return Err((Outcome::Refused, "could not be rolled back".to_owned()));
            }
        }
    }
    Err((Outcome::Refused, format!("met other transactions {MOST_TRIES} times")))
}
