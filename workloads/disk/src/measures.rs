//! Counters and measures.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

/// Bytes that were read.
pub(crate) const READ: CounterId = CounterId(0);

/// Bytes that were written.
pub(crate) const WRITTEN: CounterId = CounterId(1);

/// For each operation the time of the call that submitted it, in nanoseconds.
pub(crate) const SUBMISSION: CounterId = CounterId(2);

/// Operations that were submitted.
pub(crate) const SUBMITTED: CounterId = CounterId(3);

/// Calls that submitted operations.
pub(crate) const CALLS: CounterId = CounterId(4);

/// Blocks that were read in a load that verifies.
pub(crate) const VERIFIABLE: CounterId = CounterId(5);

/// Those of them that were compared with what was written.
pub(crate) const VERIFIED: CounterId = CounterId(6);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 7] = [
    "bytes_read",
    "bytes_written",
    "submission_ns",
    "submitted",
    "submission_calls",
    "verifiable",
    "verified",
];

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 5] = [
    MeasureSpec {
        id: "read_mb_per_s",
        title: "read",
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(READ)).times(1e-6),
    },
    MeasureSpec {
        id: "written_mb_per_s",
        title: "written",
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(WRITTEN)).times(1e-6),
    },
    MeasureSpec {
        id: "submission_us",
        title: "mean time of submission",
        unit: "us",
        better: BetterWhen::Lower,
        formula: Formula { per: MeasureDivisor::Amount(Amount::Counter(SUBMITTED)), ..of(SUBMISSION) }
            .times(1e-3),
    },
    MeasureSpec {
        id: "operations_per_call",
        title: "operations per call of submission",
        unit: "operations",
        better: BetterWhen::Neither,
        formula: Formula { per: MeasureDivisor::Amount(Amount::Counter(CALLS)), ..of(SUBMITTED) },
    },
    MeasureSpec {
        id: "verified_share",
        title: "reads that were verified",
        unit: "%",
        better: BetterWhen::Neither,
        formula: Formula::percent(Amount::Counter(VERIFIED), Amount::Counter(VERIFIABLE)),
    },
];

const fn of(counter: CounterId) -> Formula {
    Formula::per_second(Amount::Counter(counter))
}
