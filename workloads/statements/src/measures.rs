//! Counters and measures.

use barograph_database::measures::{self, FIRST_OWN};
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

/// Executed statements.
pub(crate) const STATEMENTS: CounterId = CounterId(FIRST_OWN);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 6] = {
    let [busy, snapshot, deadlocks, lock_wait, writes] = measures::COUNTERS;
    [busy, snapshot, deadlocks, lock_wait, writes, "statements"]
};

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 5] = [
    MeasureSpec {
        id: "statements_per_s",
        title: "statements",
        unit: "per second",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(STATEMENTS)),
    },
    measures::LOCK_WAIT_MS,
    measures::BUSY_RETRIES,
    measures::SNAPSHOT_RETRIES,
    measures::DEADLOCK_RETRIES,
];
