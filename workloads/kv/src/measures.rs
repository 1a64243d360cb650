//! Counters of the workload, and measures derived from them.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

/// Keys, fields and elements that were looked up.
pub(crate) const LOOKUPS: CounterId = CounterId(0);

/// Successful lookups.
pub(crate) const HITS: CounterId = CounterId(1);

/// Bytes of values in replies.
pub(crate) const BYTES: CounterId = CounterId(2);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 3] = ["lookups", "hits", "value_bytes"];

/// Id of the share of hits.
pub(crate) const HIT_SHARE: &str = "hit_share";

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 2] = [
    MeasureSpec {
        id: HIT_SHARE,
        title: "hits",
        unit: "%",
        better: BetterWhen::Higher,
        formula: Formula::percent(Amount::Counter(HITS), Amount::Counter(LOOKUPS)),
    },
    MeasureSpec {
        id: "value_mb_per_s",
        title: "values read",
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(BYTES)).times(1e-6),
    },
];
