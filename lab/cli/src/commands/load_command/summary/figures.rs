//! Figures of operations in a measured window: of one operation, or of all together.

use std::collections::BTreeMap;

use barograph_record::{IntervalRow, LogReader, OpRecord, Run, WindowRecord};
use barograph_stats::Histogram;
use barograph_stats::interval::histogram;
use serde::Serialize;

use crate::words::time;

/// Quantiles of the table.
pub(crate) const QUANTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// Width of a column of the table.
const COLUMN: usize = 10;

/// Figures of operations that ended in the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Requests sent.
    pub(crate) requests: u64,
    pub(crate) requests_per_s: f64,
    #[serde(flatten)]
    pub(crate) response: Times,
    pub(crate) service: Times,
    /// Failed operations.
    pub(crate) errors: u64,
    /// Share of failed operations, 0 to 1.
    pub(crate) error_share: f64,
    /// Operations by outcome.
    pub(crate) outcomes: BTreeMap<String, u64>,
}

/// Figures of one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Operation {
    pub(crate) operation: String,
    /// Operations that ended.
    pub(crate) count: u64,
    pub(crate) count_per_s: f64,
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// Whether rules judge it.
    #[serde(skip)]
    pub(crate) is_judged: bool,
}

impl Operation {
    /// All of a window, whose intervals are `rows`.
    pub(crate) fn all(window: &WindowRecord, rows: &[&IntervalRow]) -> Vec<Self> {
        let of = |op: &OpRecord| Operation {
            operation: op.op.clone(),
            count: op.count,
            count_per_s: op.count as f64 / window.seconds(),
            figures: Figures::of(op, rows, window.seconds()),
            is_judged: op.judged,
        };
        window.ops.iter().map(of).collect()
    }
}

/// Mean and quantiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) mean_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
    pub(crate) max_ms: f64,
}

/// Pads a text to the width of a column.
pub(crate) fn cell(text: &str) -> String {
    format!("{text:>COLUMN$}")
}

/// Response and service times of all operations in a window. Quantiles of several are those of merged
/// histograms.
pub(crate) fn times(run: &Run, window: &WindowRecord) -> (Times, Times) {
    if let [only] = window.ops.as_slice() {
        return (Times::response(only), Times::service(only));
    }
    let merged = |log: Option<LogReader>| {
        let mut all = histogram();
        let ops = log.map(|log| log.in_windows(&[window])).unwrap_or_default();
        ops.values().for_each(|op| all.add(op).expect("all were made with these bounds"));
        all
    };
    (
        Times::merged(&window.ops, Times::response, &merged(run.response_log().ok())),
        Times::merged(&window.ops, Times::service, &merged(run.service_log().ok())),
    )
}

impl Times {
    /// Cells of its columns, in the order of [`QUANTILES`].
    pub(crate) fn cells(&self) -> String {
        let times = [self.p50_ms, self.p90_ms, self.p99_ms, self.p999_ms, self.max_ms];
        times.map(|ms| cell(&time(ms))).concat()
    }

    /// Times of operations of which none ended.
    const NONE: Times = Times {
        mean_ms: f64::NAN,
        p50_ms: f64::NAN,
        p90_ms: f64::NAN,
        p95_ms: f64::NAN,
        p99_ms: f64::NAN,
        p999_ms: f64::NAN,
        max_ms: f64::NAN,
    };

    pub(crate) fn response(op: &OpRecord) -> Self {
        if op.count == 0 {
            return Times::NONE;
        }
        Times {
            mean_ms: op.mean_ms,
            p50_ms: op.p50_ms,
            p90_ms: op.p90_ms,
            p95_ms: op.p95_ms,
            p99_ms: op.p99_ms,
            p999_ms: op.p999_ms,
            max_ms: op.max_ms,
        }
    }

    pub(crate) fn service(op: &OpRecord) -> Self {
        if op.count == 0 {
            return Times::NONE;
        }
        Times {
            mean_ms: op.service_mean_ms,
            p50_ms: op.service_p50_ms,
            p90_ms: op.service_p90_ms,
            p95_ms: op.service_p95_ms,
            p99_ms: op.service_p99_ms,
            p999_ms: op.service_p999_ms,
            max_ms: op.service_max_ms,
        }
    }

    /// Times of several operations with the merged histogram `all`; quantiles are unknown if it is
    /// incomplete.
    pub(crate) fn merged(ops: &[OpRecord], of: fn(&OpRecord) -> Times, all: &Histogram) -> Self {
        let count: u64 = ops.iter().map(|op| op.count).sum();
        let ended = || ops.iter().filter(|op| op.count > 0);
        let is_whole = all.len() == count && count > 0;
        let ms = |q: f64| if is_whole { all.value_at_quantile(q) as f64 / 1e3 } else { f64::NAN };
        Times {
            // Exact, like the means of the operations.
            mean_ms: ended().map(|op| of(op).mean_ms * op.count as f64).sum::<f64>() / count as f64,
            p50_ms: ms(0.5),
            p90_ms: ms(0.9),
            p95_ms: ms(0.95),
            p99_ms: ms(0.99),
            p999_ms: ms(0.999),
            max_ms: ended().map(|op| of(op).max_ms).fold(f64::NAN, f64::max),
        }
    }
}

impl Figures {
    /// Figures of one operation.
    pub(crate) fn of(op: &OpRecord, rows: &[&IntervalRow], seconds: f64) -> Self {
        let rows = || rows.iter().flat_map(|row| &row.ops).filter(|row| row.op == op.op);
        let mut outcomes = BTreeMap::new();
        for outcome in rows().flat_map(|row| &row.outcomes) {
            *outcomes.entry(outcome.name.clone()).or_insert(0) += outcome.count;
        }
        let requests: u64 = rows().map(|row| row.requests).sum();
        Figures {
            requests,
            requests_per_s: requests as f64 / seconds,
            response: Times::response(op),
            service: Times::service(op),
            errors: op.failed,
            error_share: share(op.failed, op.count),
            outcomes,
        }
    }

    /// Figures of all operations in a window.
    pub(crate) fn whole(
        window: &WindowRecord,
        operations: &[Operation],
        (response, service): (Times, Times),
    ) -> Self {
        let figures = || operations.iter().map(|operation| &operation.figures);
        let mut outcomes = BTreeMap::new();
        for (name, count) in figures().flat_map(|figures| &figures.outcomes) {
            *outcomes.entry(name.clone()).or_insert(0) += count;
        }
        let errors = figures().map(|figures| figures.errors).sum();
        Figures {
            requests: figures().map(|figures| figures.requests).sum(),
            requests_per_s: window.requests_s,
            response,
            service,
            errors,
            error_share: share(errors, operations.iter().map(|operation| operation.count).sum()),
            outcomes,
        }
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(count: u64, mean_ms: f64, max_ms: f64) -> OpRecord {
        let mut op = serde_json::json!({
            "op": "Get", "count": count, "failed": 0, "mean_ms": mean_ms, "max_ms": max_ms, "limit_ms": null,
            "judged": true, "time_ok": true, "mix_ok": true, "failures_ok": true,
        });
        let others = "mix mix_required mix_tolerance p50_ms p90_ms p99_ms service_p99_ms judged_ms over_limit failures_allowed";
        for other in others.split_whitespace() {
            op[other] = 0.into();
        }
        serde_json::from_value(op).unwrap()
    }

    #[test]
    fn quantiles_of_several_operations_are_those_of_all_their_times() {
        let mut all = histogram();
        all.record_n(1_000, 98).unwrap();
        all.record_n(500_000, 2).unwrap();
        // The mean of both p99 would be half of that.
        let ops = [op(98, 1.0, 1.0), op(2, 500.0, 510.0), op(0, 0.0, 0.0)];
        let times = Times::merged(&ops, Times::response, &all);
        assert_eq!((times.p50_ms.round(), times.p95_ms.round(), times.p99_ms.round()), (1.0, 1.0, 500.0));
        assert!((times.mean_ms - 10.98).abs() < 1e-9 && times.max_ms == 510.0, "{times:?}");
    }

    #[test]
    fn quantiles_are_unknown_where_times_were_lost() {
        let mut some = histogram();
        some.record_n(1_000, 97).unwrap();
        let times = Times::merged(&[op(98, 1.0, 1.0), op(2, 500.0, 510.0)], Times::response, &some);
        assert!(times.p50_ms.is_nan() && times.max_ms == 510.0, "{times:?}");
    }

    #[test]
    fn operations_that_did_not_happen_have_no_times() {
        for times in [Times::response, Times::service].map(|of| of(&op(0, 0.0, 0.0))) {
            assert_eq!(times.cells().split_whitespace().collect::<Vec<_>>(), ["–"; QUANTILES.len()]);
        }
    }
}
