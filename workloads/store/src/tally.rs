//! Counts of what the users of a load have committed, to be compared with the database after the run.

use std::sync::atomic::{AtomicU64, Ordering};

use barograph_database::{CommitGaps, TransactionError};
use barograph_model::UserId;

use crate::operations::{End, Sale};

/// Counts of all users.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: barograph_database::Tally<6>,
    /// Names that were given to new customers.
    names: AtomicU64,
    pub(crate) gaps: CommitGaps,
}

/// The values of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Acknowledged commits.
    pub(crate) committed: Counts,
    /// Commits without an answer, which the database may or may not have.
    pub(crate) in_doubt: Counts,
}

/// Counts of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// New customers.
    pub(crate) customers: i64,
    /// Placed orders.
    pub(crate) orders: i64,
    /// Sums over all placed orders.
    pub(crate) sale: Sale,
}

impl Counts {
    /// The counts of a successful operation.
    fn of(ended: End) -> Self {
        let none = Counts::default();
        match ended {
            End::Registration(_) => Counts { customers: 1, ..none },
            End::Order(sale) => Counts { orders: 1, sale, ..none },
            End::Login(_) | End::Search(_) | End::Shortage => none,
        }
    }

    /// Its values as numbers.
    pub(crate) fn numbers(self) -> [i64; 6] {
        let Counts { customers, orders, sale: Sale { lines, units, cents, restocks } } = self;
        [customers, orders, lines, units, cents, restocks]
    }

    fn of_numbers([customers, orders, lines, units, cents, restocks]: [i64; 6]) -> Self {
        Counts { customers, orders, sale: Sale { lines, units, cents, restocks } }
    }
}

impl Tally {
    /// The commit of an operation begins, which adds at most the counts of `most`. It is in doubt until [`Self::answered`].
    pub(crate) fn asked(&self, most: End) {
        self.counts.asked(Counts::of(most).numbers());
    }

    /// The answer to the commit of an operation.
    pub(crate) fn answered(&self, most: End, answer: Result<End, &TransactionError>) {
        let answer = answer.map(|ended| Counts::of(ended).numbers());
        self.counts.answered(Counts::of(most).numbers(), answer);
    }

    /// The answer that nothing was committed.
    pub(crate) fn undone(&self, most: End) {
        self.counts.answered(Counts::of(most).numbers(), Ok(Counts::default().numbers()));
    }

    /// The name of the next new customer. A user that becomes active again gets no name twice, and users of other drivers have
    /// other ids.
    pub(crate) fn name(&self, user: UserId) -> String {
        format!("guest{}-{}", user.0, self.names.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Its values as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.counts.numbers()
    }

    /// Adds [`Self::numbers`] of another tally.
    pub(crate) fn add_numbers(&self, numbers: &[i64]) {
        self.counts.add_numbers(numbers);
    }

    /// Its values. Complete when no user is active.
    pub(crate) fn counted(&self) -> Totals {
        let [committed, in_doubt] = [self.counts.committed(), self.counts.in_doubt()].map(Counts::of_numbers);
        Totals { committed, in_doubt }
    }
}
