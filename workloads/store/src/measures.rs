//! Counters and measures.

use barograph_database::measures::{self, FIRST_OWN};
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

use crate::user::Operation;

/// Committed orders.
pub(crate) const ORDERS: CounterId = CounterId(FIRST_OWN);

/// Planned shortages.
pub(crate) const SHORTAGES: CounterId = CounterId(FIRST_OWN + 1);

/// Restocked products.
pub(crate) const RESTOCKS: CounterId = CounterId(FIRST_OWN + 2);

/// Searches by title that found a product.
pub(crate) const TITLE_HITS: CounterId = CounterId(FIRST_OWN + 3);

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
        "orders",
        "planned_shortages",
        "restocks",
        "title_hits",
    ]
};

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 10] = [
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
    measures::STATEMENT_RATE,
    measures::STATEMENTS_EACH,
    measures::LOCK_WAIT_MS,
    measures::BUSY_RETRIES,
    measures::SNAPSHOT_RETRIES,
    measures::DEADLOCK_RETRIES,
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
