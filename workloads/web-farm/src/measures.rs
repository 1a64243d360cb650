//! Counters of the workload, and measures derived from them.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

/// Files that came whole.
pub(crate) const FILES: CounterId = CounterId(0);

/// Bytes of these files.
pub(crate) const BYTES: CounterId = CounterId(1);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 2] = ["files", "bytes"];

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 2] = [
    MeasureSpec {
        id: "files_per_s",
        title: "files fetched",
        unit: "files/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(FILES)),
    },
    MeasureSpec {
        id: "payload_mbit_s",
        title: "content of files",
        unit: "Mbit/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(BYTES)).times(8e-6),
    },
];
