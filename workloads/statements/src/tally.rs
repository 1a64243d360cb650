//! Commits of each transaction, to be compared with the database after the run.

use barograph_database::{CommitGaps, Reply};

use crate::read::MOST;

/// The commits of all users, and the times without one.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: Vec<barograph_database::Tally<1>>,
    pub(crate) gaps: CommitGaps,
}

/// Room for every transaction that a file may have.
impl Default for Tally {
    fn default() -> Self {
        let counts = (0..MOST).map(|_| barograph_database::Tally::default()).collect();
        Tally { counts, gaps: CommitGaps::default() }
    }
}

impl Tally {
    /// The commit of a transaction begins.
    pub(crate) fn asked(&self, transaction: usize) {
        self.counts[transaction].asked([1]);
    }

    /// The answer to the commit of a transaction.
    pub(crate) fn answered<T>(&self, transaction: usize, answer: &Reply<T>) {
        self.counts[transaction].answered([1], answer.as_ref().map(|_| [1]));
    }

    /// Acknowledged commits of a transaction, and those without an answer.
    pub(crate) fn commits(&self, transaction: usize) -> (i64, i64) {
        let tally = &self.counts[transaction];
        let ([committed], [in_doubt]) = (tally.committed(), tally.in_doubt());
        (committed, in_doubt)
    }

    /// Its values as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.counts.iter().flat_map(barograph_database::Tally::numbers).collect()
    }

    /// Adds [`Self::numbers`] of another tally.
    pub(crate) fn add_numbers(&self, numbers: &[i64]) {
        for (tally, numbers) in self.counts.iter().zip(numbers.chunks(2)) {
            tally.add_numbers(numbers);
        }
    }
}
