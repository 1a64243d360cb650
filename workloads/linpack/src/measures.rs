//! Counters and measures.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

/// Floating-point operations of solved systems, by the rule.
pub(crate) const OPERATIONS: CounterId = CounterId(0);

/// Time of solutions, in nanoseconds.
pub(crate) const SOLVING: CounterId = CounterId(1);

/// The time that solutions would have taken at the measured peak, in nanoseconds.
pub(crate) const AT_PEAK: CounterId = CounterId(2);

/// Floating-point operations in registers.
pub(crate) const PEAK_OPERATIONS: CounterId = CounterId(3);

/// Their time, in nanoseconds.
pub(crate) const PEAK_TIME: CounterId = CounterId(4);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 5] =
    ["floating_point_operations", "solving_ns", "solving_at_peak_ns", "peak_operations", "peak_ns"];

/// A rate of operations per nanosecond, which is GFLOPS.
const fn rate(operations: CounterId, time: CounterId) -> Formula {
    Formula {
        amount: Amount::Counter(operations),
        per: MeasureDivisor::Amount(Amount::Counter(time)),
        factor: 1.0,
    }
}

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 3] = [
    MeasureSpec {
        id: "gflops",
        title: "rate of solutions",
        unit: "GFLOPS",
        better: BetterWhen::Higher,
        formula: rate(OPERATIONS, SOLVING),
    },
    MeasureSpec {
        id: "peak_gflops",
        title: "peak of the cores",
        unit: "GFLOPS",
        better: BetterWhen::Higher,
        formula: rate(PEAK_OPERATIONS, PEAK_TIME),
    },
    MeasureSpec {
        id: "share_of_peak",
        title: "share of the peak",
        unit: "%",
        better: BetterWhen::Higher,
        formula: Formula::percent(Amount::Counter(AT_PEAK), Amount::Counter(SOLVING)),
    },
];
