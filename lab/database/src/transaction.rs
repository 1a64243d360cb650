//! Transactions: their kinds and errors, the same on all engines.

use barograph_data::mix;
use barograph_engine::OpContext;
use barograph_model::{Nanos, Outcome};

use crate::measures;

/// Tries of a transaction at the most.
const MOST_TRIES: u32 = 10;

/// Limit on the pause before the second try. That of each further one is twice as long.
const FIRST_PAUSE: Nanos = Nanos::from_millis(1);

/// Limit on all pauses: transactions take milliseconds.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(64);

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
    /// Further tries begin after a pause. Not in sessions that block, which have waited for the lock.
    const PAUSES: bool = true;

    /// Takes the number of statements since the last call, those that begin and end transactions included; 0 where it is not
    /// known.
    fn take_statements(&mut self) -> u64 {
        0
    }

    /// Begins a transaction.
    fn begin(&mut self, access: Access, context: &mut OpContext) -> impl Future<Output = Reply<()>>;

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Reply<()>>;

    /// Rolls the transaction back, if one is open.
    fn roll_back(&mut self) -> impl Future<Output = Reply<()>>;
}

/// The pause after a number of tries: a random part of its limit, so that transactions that have met do not meet again.
/// `random` is any number; the random numbers of the user are for its choices.
fn pause(tries: u32, random: u64) -> Nanos {
    let limit = (FIRST_PAUSE.0 << tries.saturating_sub(1)).min(LONGEST_PAUSE.0);
    Nanos(mix(random) % (limit + 1))
}

/// Tries a transaction until it meets no conflict, ten times at the most. Conflicts and statements are counted.
///
/// # Errors
/// Outcome and reason of a transaction that failed.
pub async fn with_retries<S: Transactions, T>(
    session: &mut S,
    context: &mut OpContext,
    attempt: impl AsyncFnMut(&mut S, &mut OpContext) -> Reply<T>,
) -> Result<T, (Outcome, String)> {
    let ended = tries(session, context, attempt).await;
    context.add(measures::STATEMENTS, session.take_statements());
    ended
}

async fn tries<S: Transactions, T>(
    session: &mut S,
    context: &mut OpContext,
    mut attempt: impl AsyncFnMut(&mut S, &mut OpContext) -> Reply<T>,
) -> Result<T, (Outcome, String)> {
    for tries in 0..MOST_TRIES {
        if tries > 0 && S::PAUSES {
            let random = context.watch()().0 ^ u64::from(context.user.0);
            context.pause(pause(tries, random)).await;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        for (tries, limit) in [(1, 1), (2, 2), (4, 8), (7, 64), (9, 64)] {
            let all: Vec<Nanos> = (0..1_000).map(|random| pause(tries, random)).collect();
            let limit = Nanos::from_millis(limit);
            assert!(all.iter().all(|pause| *pause <= limit), "{tries}");
            let half = all.iter().filter(|pause| pause.0 <= limit.0 / 2).count();
            assert!((400..600).contains(&half), "{tries}: {half} of 1,000 in the lower half");
        }
    }
}
