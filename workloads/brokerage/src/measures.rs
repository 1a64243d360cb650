//! Counters and measures.

use barograph_database::measures::{self, FIRST_OWN};
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

use crate::user::Transaction;

/// Completed orders.
pub(crate) const COMPLETED_ORDERS: CounterId = CounterId(FIRST_OWN);

/// Planned rollbacks.
pub(crate) const ROLLED_BACK: CounterId = CounterId(FIRST_OWN + 1);

/// Pending orders that a price sent to the market.
pub(crate) const TRIGGERED: CounterId = CounterId(FIRST_OWN + 2);

/// Orders at the market when an operation began, over all operations.
pub(crate) const BACKLOG: CounterId = CounterId(FIRST_OWN + 3);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 10] = {
    let [busy, snapshot, deadlocks, lock_wait, writes, sent] = measures::COUNTERS;
    [
        busy,
        snapshot,
        deadlocks,
        lock_wait,
        writes,
        sent,
        "completed_orders",
        "planned_rollbacks",
        "triggered_orders",
        "market_backlog",
    ]
};

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 11] = [
    MeasureSpec {
        id: "completed_orders_per_s",
        title: "completed orders",
        unit: "per second",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(COMPLETED_ORDERS)),
    },
    MeasureSpec {
        id: "market_backlog",
        title: "orders at the market",
        unit: "orders",
        better: BetterWhen::Lower,
        formula: Formula::per_operation(BACKLOG),
    },
    measures::TRANSACTIONS_PER_S,
    MeasureSpec {
        id: "planned_rollback_share",
        title: "planned rollbacks",
        unit: "% of placed orders",
        better: BetterWhen::Neither,
        formula: Formula::percent(
            Amount::Counter(ROLLED_BACK),
            Amount::Ended(Some(Transaction::PlaceOrder.op())),
        ),
    },
    MeasureSpec {
        id: "triggered_orders_per_s",
        title: "pending orders sent to the market",
        unit: "per second",
        better: BetterWhen::Neither,
        formula: Formula::per_second(Amount::Counter(TRIGGERED)),
    },
    measures::STATEMENT_RATE,
    measures::STATEMENTS_EACH,
    measures::LOCK_WAIT_MS,
    measures::BUSY_RETRIES,
    measures::SNAPSHOT_RETRIES,
    measures::DEADLOCK_RETRIES,
];
