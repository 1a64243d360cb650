//! Counts of what the users of a load have committed, to be compared with the database after the run.

use barograph_database::CommitGaps;

use crate::session::Reply;
use crate::tables::DISTRICTS;
use crate::transactions::End;
use crate::user::Request;

/// Counts of all users.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: barograph_database::Tally<4>,
    pub(crate) gaps: CommitGaps,
}

/// The values of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Acknowledged commits.
    pub(crate) committed: Counts,
    /// Upper bounds of commits without an answer, which the database may or may not have.
    pub(crate) in_doubt: Counts,
}

/// Counts of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Placed orders.
    pub(crate) orders: i64,
    /// Payments.
    pub(crate) payments: i64,
    /// Sum of all payments, in cents.
    pub(crate) cents: i64,
    /// Delivered orders.
    pub(crate) delivered: i64,
}

impl Counts {
    /// The most that a transaction adds.
    pub(crate) fn most(asked: Request) -> Self {
        let none = Counts::default();
        match asked {
            Request::NewOrder(_) => Counts { orders: 1, ..none },
            Request::Payment(payment) => Counts { payments: 1, cents: payment.cents, ..none },
            Request::Delivery(..) => Counts { delivered: DISTRICTS, ..none },
            Request::OrderStatus(..) | Request::StockLevel(..) => none,
        }
    }

    /// The counts of a successful transaction.
    fn of(ended: End) -> Self {
        let none = Counts::default();
        match ended {
            End::Ordered { .. } => Counts { orders: 1, ..none },
            End::Paid { cents } => Counts { payments: 1, cents, ..none },
            End::Delivered { orders, .. } => Counts { delivered: orders, ..none },
            End::RolledBack | End::Read => none,
        }
    }

    fn numbers(self) -> [i64; 4] {
        [self.orders, self.payments, self.cents, self.delivered]
    }

    fn of_numbers([orders, payments, cents, delivered]: [i64; 4]) -> Self {
        Counts { orders, payments, cents, delivered }
    }
}

impl Tally {
    /// A commit begins. It is in doubt until [`Self::answered`].
    pub(crate) fn asked(&self, most: Counts) {
        self.counts.asked(most.numbers());
    }

    /// The answer to a commit.
    pub(crate) fn answered(&self, most: Counts, answer: &Reply<End>) {
        self.counts.answered(most.numbers(), answer.as_ref().map(|ended| Counts::of(*ended).numbers()));
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
