//! The measures.

use barograph_database::measures;
use barograph_model::MeasureSpec;

/// The measures of all engines.
pub(crate) const MEASURES: [MeasureSpec; 6] = [
    measures::STATEMENT_RATE,
    measures::STATEMENTS_EACH,
    measures::LOCK_WAIT_MS,
    measures::BUSY_RETRIES,
    measures::SNAPSHOT_RETRIES,
    measures::DEADLOCK_RETRIES,
];
