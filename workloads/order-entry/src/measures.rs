//! Counters and measures.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec, OpId};

/// Committed new orders.
pub(crate) const NEW_ORDERS: CounterId = CounterId(0);

/// Planned rollbacks.
pub(crate) const ROLLED_BACK: CounterId = CounterId(1);

/// Retries after [`crate::session::Conflict::Busy`].
pub(crate) const BUSY: CounterId = CounterId(2);

/// Retries after [`crate::session::Conflict::Snapshot`].
pub(crate) const SNAPSHOT: CounterId = CounterId(3);

/// Waits for the write lock, in nanoseconds.
pub(crate) const LOCK_WAIT: CounterId = CounterId(4);

/// Transactions that write.
pub(crate) const WRITES: CounterId = CounterId(5);

/// Districts without an open order, in deliveries.
pub(crate) const LEFT_OUT: CounterId = CounterId(6);

/// Retries after [`crate::session::Conflict::Deadlock`].
pub(crate) const DEADLOCKS: CounterId = CounterId(7);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 8] = [
    "new_orders",
    "planned_rollbacks",
    "busy_retries",
    "snapshot_retries",
    "lock_wait_ns",
    "write_transactions",
    "districts_left_out",
    "deadlock_retries",
];

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 8] = [
    MeasureSpec {
        id: "nopm",
        title: "new orders",
        unit: "per minute",
        better: BetterWhen::Higher,
        formula: Formula::per_minute(Amount::Counter(NEW_ORDERS)),
    },
    MeasureSpec {
        id: "transactions_per_s",
        title: "transactions",
        unit: "per second",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Good(None)),
    },
    MeasureSpec {
        id: "planned_rollback_share",
        title: "planned rollbacks",
        unit: "% of new orders",
        better: BetterWhen::Neither,
        formula: Formula::percent(Amount::Counter(ROLLED_BACK), Amount::Ended(Some(OpId(0)))),
    },
    MeasureSpec {
        id: "lock_wait_ms",
        title: "mean wait for the write lock",
        unit: "ms",
        better: BetterWhen::Lower,
        formula: Formula {
            per: barograph_model::MeasureDivisor::Amount(Amount::Counter(WRITES)),
            ..Formula::per_second(Amount::Counter(LOCK_WAIT)).times(1e-6)
        },
    },
    MeasureSpec {
        id: "busy_retries_per_s",
        title: "retries for a lock",
        unit: "per second",
        better: BetterWhen::Lower,
        formula: Formula::per_second(Amount::Counter(BUSY)),
    },
    MeasureSpec {
        id: "snapshot_retries_per_s",
        title: "retries for a snapshot",
        unit: "per second",
        better: BetterWhen::Lower,
        formula: Formula::per_second(Amount::Counter(SNAPSHOT)),
    },
    MeasureSpec {
        id: "deadlock_retries_per_s",
        title: "retries for a deadlock",
        unit: "per second",
        better: BetterWhen::Lower,
        formula: Formula::per_second(Amount::Counter(DEADLOCKS)),
    },
    MeasureSpec {
        id: "districts_left_out_per_s",
        title: "districts without an order to deliver",
        unit: "per second",
        better: BetterWhen::Neither,
        formula: Formula::per_second(Amount::Counter(LEFT_OUT)),
    },
];
