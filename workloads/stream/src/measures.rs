//! Counters and measures.

use barograph_bandwidth::Pass;
use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

/// Bytes that a pass moved, by the rules.
pub(crate) const fn bytes(pass: Pass) -> CounterId {
    CounterId(2 * pass as u8)
}

/// The time of a pass, in nanoseconds.
pub(crate) const fn time(pass: Pass) -> CounterId {
    CounterId(2 * pass as u8 + 1)
}

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 8] =
    ["copy_bytes", "copy_ns", "scale_bytes", "scale_ns", "add_bytes", "add_ns", "triad_bytes", "triad_ns"];

/// A bandwidth in MB/s of 10⁶ bytes: bytes per nanosecond, times 1,000.
const fn bandwidth(id: &'static str, title: &'static str, pass: Pass) -> MeasureSpec {
    let (amount, per) = (Amount::Counter(bytes(pass)), MeasureDivisor::Amount(Amount::Counter(time(pass))));
    MeasureSpec {
        id,
        title,
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula { amount, per, factor: 1e3 },
    }
}

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 4] = [
    bandwidth("copy_mb_per_s", "copy", Pass::Copy),
    bandwidth("scale_mb_per_s", "scale", Pass::Scale),
    bandwidth("add_mb_per_s", "add", Pass::Add),
    bandwidth("triad_mb_per_s", "triad", Pass::Triad),
];
