//! Counters and measures of steps that succeeded.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec, OpId};

use crate::user::Step;

/// Bytes of generated records.
pub(crate) const GENERATED: CounterId = CounterId(0);

/// Time of their generation, in nanoseconds.
pub(crate) const GENERATING: CounterId = CounterId(1);

/// Bytes of sorted records.
pub(crate) const SORTED: CounterId = CounterId(2);

/// Time of their sort, in nanoseconds.
pub(crate) const SORTING: CounterId = CounterId(3);

/// Bytes of validated records.
pub(crate) const VALIDATED: CounterId = CounterId(4);

/// Time of their validation, in nanoseconds.
pub(crate) const VALIDATING: CounterId = CounterId(5);

/// Bytes that sorts read from files.
pub(crate) const READ: CounterId = CounterId(6);

/// Bytes that sorts wrote to files.
pub(crate) const WRITTEN: CounterId = CounterId(7);

/// CPU time of the programs that hand jobs in, in microseconds.
pub(crate) const CLIENT_CPU: CounterId = CounterId(8);

/// What this program adds to jobs, in nanoseconds: time before and after the program that hands a job in, and CPU time
/// of this process meanwhile.
pub(crate) const OVERHEAD: CounterId = CounterId(9);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 10] = [
    "generated_bytes",
    "generating_ns",
    "sorted_bytes",
    "sorting_ns",
    "validated_bytes",
    "validating_ns",
    "sort_read_bytes",
    "sort_written_bytes",
    "client_cpu_us",
    "overhead_ns",
];

/// Number of measures that every engine has.
const OF_ALL: usize = 4;

/// Number of measures up to the last one of the sort of this program.
const OF_OWN: usize = 6;

/// Measures of an engine.
pub(crate) fn measures(is_cluster: bool) -> Vec<MeasureSpec> {
    let own = &MEASURES[OF_ALL..OF_OWN];
    let of_jobs = &MEASURES[OF_OWN..];
    [&MEASURES[..OF_ALL], if is_cluster { of_jobs } else { own }].concat()
}

const fn quotient(counter: CounterId, by: Amount, factor: f64) -> Formula {
    Formula { amount: Amount::Counter(counter), per: MeasureDivisor::Amount(by), factor }
}

/// A rate: bytes per nanosecond are GB/s.
const fn rate(id: &'static str, title: &'static str, bytes: CounterId, time: CounterId) -> MeasureSpec {
    let formula = quotient(bytes, Amount::Counter(time), 1e3);
    MeasureSpec { id, title, unit: "MB/s", better: BetterWhen::Higher, formula }
}

/// A mean over the sorts that succeeded.
const fn per_sort(counter: CounterId, factor: f64) -> Formula {
    const SORTS: OpId = Step::Sort.op();
    quotient(counter, Amount::Good(Some(SORTS)), factor)
}

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 8] = [
    MeasureSpec {
        id: "sort_s",
        title: "elapsed time of a sort",
        unit: "s",
        better: BetterWhen::Lower,
        formula: per_sort(SORTING, 1e-9),
    },
    rate("generated_mb_per_s", "generated", GENERATED, GENERATING),
    rate("sorted_mb_per_s", "sorted", SORTED, SORTING),
    rate("validated_mb_per_s", "validated", VALIDATED, VALIDATING),
    MeasureSpec {
        id: "sort_read_mb",
        title: "read by a sort",
        unit: "MB",
        better: BetterWhen::Lower,
        formula: per_sort(READ, 1e-6),
    },
    MeasureSpec {
        id: "sort_written_mb",
        title: "written by a sort",
        unit: "MB",
        better: BetterWhen::Lower,
        formula: per_sort(WRITTEN, 1e-6),
    },
    MeasureSpec {
        id: "client_cpu_s",
        title: "CPU time of the program that hands a job in",
        unit: "s",
        better: BetterWhen::Lower,
        formula: per_sort(CLIENT_CPU, 1e-6),
    },
    MeasureSpec {
        id: "overhead_percent",
        title: "time of a sort that this program adds at the most",
        unit: "%",
        better: BetterWhen::Lower,
        formula: quotient(OVERHEAD, Amount::Counter(SORTING), 100.0),
    },
];
