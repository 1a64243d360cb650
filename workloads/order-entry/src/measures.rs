//! Counters and measures.

use barograph_database::measures::{self, FIRST_OWN};
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec, OpId};

/// Committed new orders.
pub(crate) const NEW_ORDERS: CounterId = CounterId(FIRST_OWN);

/// Planned rollbacks.
pub(crate) const ROLLED_BACK: CounterId = CounterId(FIRST_OWN + 1);

/// Districts without an open order, in deliveries.
pub(crate) const LEFT_OUT: CounterId = CounterId(FIRST_OWN + 2);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 9] = {
    let [busy, snapshot, deadlocks, lock_wait, writes, sent] = measures::COUNTERS;
    [
        busy,
        snapshot,
        deadlocks,
        lock_wait,
        writes,
        sent,
        "new_orders",
        "planned_rollbacks",
        "districts_left_out",
    ]
};

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 10] = [
    MeasureSpec {
        id: "nopm",
        title: "new orders",
        unit: "per minute",
        better: BetterWhen::Higher,
        formula: Formula::per_minute(Amount::Counter(NEW_ORDERS)),
    },
    measures::TRANSACTIONS_PER_S,
    MeasureSpec {
        id: "planned_rollback_share",
        title: "planned rollbacks",
        unit: "% of new orders",
        better: BetterWhen::Neither,
        formula: Formula::percent(Amount::Counter(ROLLED_BACK), Amount::Ended(Some(OpId(0)))),
    },
    measures::STATEMENT_RATE,
    measures::STATEMENTS_EACH,
    measures::LOCK_WAIT_MS,
    measures::BUSY_RETRIES,
    measures::SNAPSHOT_RETRIES,
    measures::DEADLOCK_RETRIES,
    MeasureSpec {
        id: "districts_left_out_per_s",
        title: "districts without an order to deliver",
        unit: "per second",
        better: BetterWhen::Neither,
        formula: Formula::per_second(Amount::Counter(LEFT_OUT)),
    },
];
