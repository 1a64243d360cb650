//! Counts of what the users of a load have committed, to be compared with the database after the run.

use std::array;
use std::sync::atomic::{AtomicI64, Ordering};

use barograph_model::Outcome;

use crate::TransactionError;

/// Counts of all users, whose meaning is the workload's. They are shared: a user adds once for each commit, which takes far longer.
#[derive(Debug)]
pub struct Tally<const N: usize> {
    committed: [AtomicI64; N],
    in_doubt: [AtomicI64; N],
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        let zero = || array::from_fn(|_| AtomicI64::new(0));
        Tally { committed: zero(), in_doubt: zero() }
    }
}

impl<const N: usize> Tally<N> {
    /// A commit begins, which adds these counts at the most. It is in doubt until [`Self::answered`].
    pub fn asked(&self, most: [i64; N]) {
        add(&self.in_doubt, most);
    }

    /// The answer to a commit: its counts. A refusal is an answer, a broken connection is none.
    pub fn answered(&self, most: [i64; N], answer: Result<[i64; N], &TransactionError>) {
        match answer {
            Ok(counts) => add(&self.committed, counts),
            Err(
                TransactionError::Conflict(_) | TransactionError::Failed { outcome: Outcome::Refused, .. },
            ) => {}
            Err(TransactionError::Failed { .. }) => return,
        }
        add(&self.in_doubt, most.map(|count| -count));
    }

    /// Counts of acknowledged commits. Complete when no user is active.
    #[must_use]
    pub fn committed(&self) -> [i64; N] {
        self.committed.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Upper bounds of commits without an answer, which the database may or may not have.
    #[must_use]
    pub fn in_doubt(&self) -> [i64; N] {
        self.in_doubt.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Its values as numbers.
    #[must_use]
    pub fn numbers(&self) -> Vec<i64> {
        [self.committed(), self.in_doubt()].concat()
    }

    /// Adds [`Self::numbers`] of another tally.
    pub fn add_numbers(&self, numbers: &[i64]) {
        for (counts, shared) in numbers.chunks(N).zip([&self.committed, &self.in_doubt]) {
            if let Ok(counts) = counts.try_into() {
                add(shared, counts);
            }
        }
    }
}

fn add<const N: usize>(shared: &[AtomicI64; N], counts: [i64; N]) {
    for (shared, count) in shared.iter().zip(counts).filter(|(_, count)| *count != 0) {
        shared.fetch_add(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conflict;

    #[test]
    fn a_commit_without_an_answer_stays_in_doubt() {
        let failed = |outcome| TransactionError::Failed { outcome, why: String::new() };
        let (tally, most) = (Tally::default(), [1, 10]);
        for answer in
            [Ok([1, 7]), Err(&TransactionError::Conflict(Conflict::Snapshot)), Err(&failed(Outcome::Refused))]
        {
            tally.asked(most);
            tally.answered(most, answer);
        }
        assert_eq!((tally.committed(), tally.in_doubt()), ([1, 7], [0, 0]));
        tally.asked(most);
        tally.answered(most, Err(&failed(Outcome::Broken)));
        // One that was given up.
        tally.asked(most);
        assert_eq!((tally.committed(), tally.in_doubt()), ([1, 7], [2, 20]));
        // Those of another driver.
        let sum = Tally::default();
        sum.asked([1, 5]);
        sum.answered([1, 5], Ok([1, 5]));
        sum.add_numbers(&tally.numbers());
        assert_eq!((sum.committed(), sum.in_doubt()), ([2, 12], [2, 20]));
    }
}
