//! Counts of what the users of a load have committed, to be compared with the database after the run.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::transactions::End;

/// Counts of all users. They are shared: a user adds once for each commit, which takes far longer.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    orders: AtomicI64,
    payments: AtomicI64,
    cents: AtomicI64,
    delivered: AtomicI64,
}

/// The values of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Placed orders.
    pub(crate) orders: i64,
    /// Payments.
    pub(crate) payments: i64,
    /// Sum of all payments, in cents.
    pub(crate) cents: i64,
    /// Delivered orders.
    pub(crate) delivered: i64,
}

impl Tally {
    /// Counts a successful transaction.
    pub(crate) fn add(&self, ended: End) {
        match ended {
            End::Ordered { .. } => raise(&self.orders, 1),
            End::Paid { cents } => {
                raise(&self.payments, 1);
                raise(&self.cents, cents);
            }
            End::Delivered { orders, .. } => raise(&self.delivered, orders),
            End::RolledBack | End::Read => {}
        }
    }

    /// Its values. Complete when no user is active.
    pub(crate) fn counted(&self) -> Totals {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        Totals {
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
