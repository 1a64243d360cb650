//! Counters and measures of the runs that succeeded.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

/// Runs that succeeded.
pub(crate) const RUNS: CounterId = CounterId(0);

/// Their elapsed time, in nanoseconds.
pub(crate) const ELAPSED: CounterId = CounterId(1);

/// Their CPU time in user mode, in microseconds.
pub(crate) const USER: CounterId = CounterId(2);

/// Their CPU time in the kernel, in microseconds.
pub(crate) const SYSTEM: CounterId = CounterId(3);

/// Their peak memory, in KiB, added up.
pub(crate) const PEAK: CounterId = CounterId(4);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 5] = ["runs", "run_ns", "run_user_us", "run_system_us", "run_peak_kib"];

/// A counter for each run.
const fn per_run(counter: CounterId, factor: f64) -> Formula {
    let per = MeasureDivisor::Amount(Amount::Counter(RUNS));
    Formula { amount: Amount::Counter(counter), per, factor }
}

/// The measures: means of all runs in a window.
pub(crate) const MEASURES: [MeasureSpec; 4] = [
    MeasureSpec {
        id: "run_s",
        title: "elapsed time of a run",
        unit: "s",
        better: BetterWhen::Lower,
        formula: per_run(ELAPSED, 1e-9),
    },
    MeasureSpec {
        id: "run_user_s",
        title: "CPU time in user mode",
        unit: "s",
        better: BetterWhen::Lower,
        formula: per_run(USER, 1e-6),
    },
    MeasureSpec {
        id: "run_system_s",
        title: "CPU time in the kernel",
        unit: "s",
        better: BetterWhen::Lower,
        formula: per_run(SYSTEM, 1e-6),
    },
    MeasureSpec {
        id: "run_peak_mib",
        title: "peak memory",
        unit: "MiB",
        better: BetterWhen::Lower,
        formula: per_run(PEAK, 1.0 / 1024.0),
    },
];
