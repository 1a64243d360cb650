//! Counts of what the users of a load have committed, to be compared with the database after the run.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::operations::{End, Sale};

/// Counts of all users. They are shared: a user adds once for each commit, which takes far longer.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    customers: AtomicI64,
    orders: AtomicI64,
    lines: AtomicI64,
    units: AtomicI64,
    cents: AtomicI64,
    restocks: AtomicI64,
    /// Names that were given to new customers.
    names: AtomicI64,
}

/// The values of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// New customers.
    pub(crate) customers: i64,
    /// Placed orders.
    pub(crate) orders: i64,
    /// Sums over all placed orders.
    pub(crate) sale: Sale,
}

impl Tally {
    /// Counts a successful operation.
    pub(crate) fn add(&self, ended: End) {
        match ended {
            End::Registration(_) => raise(&self.customers, 1),
            End::Order(Sale { lines, units, cents, restocks }) => {
                raise(&self.orders, 1);
                raise(&self.lines, lines);
                raise(&self.units, units);
                raise(&self.cents, cents);
                raise(&self.restocks, restocks);
            }
            End::Login | End::Search(_) | End::Shortage => {}
        }
    }

    /// The name of the next new customer.
    pub(crate) fn name(&self) -> String {
        format!("guest{}", self.names.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Its values. Complete when no user is active.
    pub(crate) fn counted(&self) -> Totals {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        Totals {
            customers: of(&self.customers),
            orders: of(&self.orders),
            sale: Sale {
                lines: of(&self.lines),
                units: of(&self.units),
                cents: of(&self.cents),
                restocks: of(&self.restocks),
            },
        }
    }
}

fn raise(count: &AtomicI64, by: i64) {
    count.fetch_add(by, Ordering::Relaxed);
}
