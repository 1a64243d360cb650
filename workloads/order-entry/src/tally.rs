//! What all users of a load have committed, to be held against the database after the run.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::transactions::Ended;

/// Counts of all users together. Users add to them once for each commit, beside work that takes far longer.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    orders: AtomicI64,
    payments: AtomicI64,
    cents: AtomicI64,
    delivered: AtomicI64,
}

/// The state of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Orders that were placed.
    pub(crate) orders: i64,
    /// Payments that were made.
    pub(crate) payments: i64,
    /// Their sum.
    pub(crate) cents: i64,
    /// Orders that were delivered.
    pub(crate) delivered: i64,
}

impl Tally {
    /// Counts a transaction that has ended well.
    pub(crate) fn add(&self, ended: Ended) {
        match ended {
            Ended::Ordered { .. } => raise(&self.orders, 1),
            Ended::Paid { cents } => {
                raise(&self.payments, 1);
                raise(&self.cents, cents);
            }
            Ended::Delivered { orders, .. } => raise(&self.delivered, orders),
            Ended::RolledBack | Ended::Read => {}
        }
    }

    /// Its state, when no user is active.
    pub(crate) fn counted(&self) -> Counted {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        Counted {
            orders: of(&self.orders),
            payments: of(&self.payments),
            cents: of(&self.cents),
            delivered: of(&self.delivered),
        }
    }
}

fn raise(count: &AtomicI64, by: i64) {
    count.fetch_add(by, Ordering::Relaxed);
}
