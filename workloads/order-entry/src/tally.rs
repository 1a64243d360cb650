//! Counts of what the users of a load have committed, to be compared with the database after the run.

use std::sync::atomic::{AtomicI64, Ordering};

use barograph_model::Outcome;

use crate::session::{Reply, TransactionError};
use crate::tables::DISTRICTS;
use crate::transactions::End;
use crate::user::Request;

/// Counts of all users. They are shared: a user adds once for each commit, which takes far longer.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    committed: SharedCounts,
    in_doubt: SharedCounts,
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
}

impl Tally {
    /// A commit begins. It is in doubt until [`Self::answered`].
    pub(crate) fn asked(&self, most: Counts) {
        self.in_doubt.add(most, 1);
    }

    /// The answer to a commit. A refusal is an answer, a broken connection is none.
    pub(crate) fn answered(&self, most: Counts, answer: &Reply<End>) {
        match answer {
            Ok(ended) => self.committed.add(Counts::of(*ended), 1),
            Err(
                TransactionError::Conflict(_) | TransactionError::Failed { outcome: Outcome::Refused, .. },
            ) => {}
            Err(TransactionError::Failed { .. }) => return,
        }
        self.in_doubt.add(most, -1);
    }

    /// Its values as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        let Totals { committed, in_doubt } = self.counted();
        let of = |Counts { orders, payments, cents, delivered }| [orders, payments, cents, delivered];
        [of(committed), of(in_doubt)].concat()
    }

    /// Adds [`Self::numbers`] of another tally.
    pub(crate) fn add_numbers(&self, numbers: &[i64]) {
        for (counts, shared) in numbers.chunks(4).zip([&self.committed, &self.in_doubt]) {
            if let [orders, payments, cents, delivered] = *counts {
                shared.add(Counts { orders, payments, cents, delivered }, 1);
            }
        }
    }

    /// Its values. Complete when no user is active.
    pub(crate) fn counted(&self) -> Totals {
        Totals { committed: self.committed.counts(), in_doubt: self.in_doubt.counts() }
    }
}

/// Counts that threads share.
#[derive(Debug, Default)]
struct SharedCounts {
    orders: AtomicI64,
    payments: AtomicI64,
    cents: AtomicI64,
    delivered: AtomicI64,
}

impl SharedCounts {
    fn add(&self, counts: Counts, sign: i64) {
        let Counts { orders, payments, cents, delivered } = counts;
        for (count, by) in [
            (&self.orders, orders),
            (&self.payments, payments),
            (&self.cents, cents),
            (&self.delivered, delivered),
        ] {
            if by != 0 {
                count.fetch_add(sign * by, Ordering::Relaxed);
            }
        }
    }

    fn counts(&self) -> Counts {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        Counts {
            orders: of(&self.orders),
            payments: of(&self.payments),
            cents: of(&self.cents),
            delivered: of(&self.delivered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Conflict;

    #[test]
    fn a_commit_without_an_answer_stays_in_doubt() {
        let failed = |outcome| Err(TransactionError::Failed { outcome, why: String::new() });
        let most = Counts::most(Request::Delivery(1, 2));
        let tally = Tally::default();
        for answer in [
            Ok(End::Delivered { orders: 7, left_out: 3 }),
            Err(TransactionError::Conflict(Conflict::Snapshot)),
            failed(Outcome::Refused),
        ] {
            tally.asked(most);
            tally.answered(most, &answer);
        }
        let committed = Counts { delivered: 7, ..Counts::default() };
        assert_eq!(tally.counted(), Totals { committed, in_doubt: Counts::default() });
        tally.asked(most);
        tally.answered(most, &failed(Outcome::Broken));
        // One that was given up.
        tally.asked(most);
        let in_doubt = Counts { delivered: 20, ..Counts::default() };
        assert_eq!(tally.counted(), Totals { committed, in_doubt });
        // Those of another driver.
        let sum = Tally::default();
        let paid = Counts { payments: 1, cents: 5, ..Counts::default() };
        sum.asked(paid);
        sum.answered(paid, &Ok(End::Paid { cents: 5 }));
        sum.add_numbers(&tally.numbers());
        let committed = Counts { delivered: 7, ..paid };
        assert_eq!(sum.counted(), Totals { committed, in_doubt });
    }
}
