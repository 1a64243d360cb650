//! Counters and measures.

use barograph_database::Conflict;
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

use crate::user::Operation;

/// Committed orders.
pub(crate) const ORDERS: CounterId = CounterId(0);

/// Planned shortages.
pub(crate) const SHORTAGES: CounterId = CounterId(1);

/// Retries after [`Conflict::Busy`] or [`Conflict::Deadlock`].
pub(crate) const BUSY: CounterId = CounterId(2);

/// Retries after [`Conflict::Snapshot`].
pub(crate) const SNAPSHOT: CounterId = CounterId(3);

/// Waits for the write lock, in nanoseconds.
pub(crate) const LOCK_WAIT: CounterId = CounterId(4);

/// Operations that write.
pub(crate) const WRITES: CounterId = CounterId(5);

/// Restocked products.
pub(crate) const RESTOCKS: CounterId = CounterId(6);

/// Searches by title that found a product.
pub(crate) const TITLE_HITS: CounterId = CounterId(7);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 8] = [
    "orders",
    "planned_shortages",
    "busy_retries",
    "snapshot_retries",
    "lock_wait_ns",
    "write_operations",
    "restocks",
    "title_hits",
];

/// The counter of a conflict.
pub(crate) fn counter(conflict: Conflict) -> CounterId {
    match conflict {
        Conflict::Busy | Conflict::Deadlock => BUSY,
        Conflict::Snapshot => SNAPSHOT,
    }
}

/// The measures. Those of locks are the same as those of Order-Entry, counters included.
pub(crate) const MEASURES: [MeasureSpec; 7] = [
    MeasureSpec {
        id: "opm",
        title: "orders",
        unit: "per minute",
        better: BetterWhen::Higher,
        formula: Formula::per_minute(Amount::Counter(ORDERS)),
    },
    MeasureSpec {
        id: "shortage_share",
        title: "planned shortages",
        unit: "% of purchases",
        better: BetterWhen::Neither,
        formula: Formula::percent(Amount::Counter(SHORTAGES), Amount::Ended(Some(Operation::Purchase.op()))),
    },
    MeasureSpec {
        id: "lock_wait_ms",
        title: "mean wait for the write lock",
        unit: "ms",
        better: BetterWhen::Lower,
        formula: Formula {
            per: MeasureDivisor::Amount(Amount::Counter(WRITES)),
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
        id: "restocks_per_s",
        title: "restocked products",
        unit: "per second",
        better: BetterWhen::Neither,
        formula: Formula::per_second(Amount::Counter(RESTOCKS)),
    },
    MeasureSpec {
        id: "title_hit_share",
        title: "searches by title with a result",
        unit: "% of BrowseByTitle",
        better: BetterWhen::Neither,
        formula: Formula::percent(
            Amount::Counter(TITLE_HITS),
            Amount::Ended(Some(Operation::BrowseByTitle.op())),
        ),
    },
];
