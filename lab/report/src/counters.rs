//! Counters of the workload over time: per second, and per operation that ended.

use barograph_record::{IntervalRow, Run};

use crate::services::{StatisticSeries, course, median, window};
use crate::words;

/// One counter.
pub(crate) struct CounterLine {
    pub(crate) name: String,
    pub(crate) svg: String,
    /// Per second, in the deciding window.
    pub(crate) median: String,
    pub(crate) highest: String,
    /// Per operation, in the deciding window as a whole and in one of its intervals.
    pub(crate) each: String,
    pub(crate) highest_each: String,
}

/// A counter by interval.
struct Counts {
    name: String,
    /// End of the interval, and amount per second.
    points: Vec<(f64, f64)>,
    /// Amount per second and per operation, of the intervals in the deciding window.
    within: Vec<(f64, f64)>,
    /// Amount and operations in the deciding window.
    sums: (f64, f64),
}

/// The counters that counted anything.
pub(crate) fn lines(run: &Run) -> Vec<CounterLine> {
    let Some(expected) = run.expected() else { return Vec::new() };
    let rows: Vec<&IntervalRow> = run.intervals().collect();
    let window = window(run);
    let span = rows.first().zip(rows.last()).map_or((0.0, 0.0), |(first, last)| (first.from_s, last.to_s));
    let counts = |(at, name): (usize, &String)| counts(name, at, (&rows, window));
    let all = expected.counters.iter().enumerate().filter_map(counts);
    all.enumerate().map(|(number, counts)| counts.line(number, span, window)).collect()
}

/// The counter of an index; `None` if it stayed 0.
fn counts(name: &str, at: usize, (rows, window): (&[&IntervalRow], (f64, f64))) -> Option<Counts> {
    let (mut points, mut within, mut sums) = (Vec::new(), Vec::new(), (0.0, 0.0));
    for row in rows {
        let amount = row.counters.get(at).copied().unwrap_or(0) as f64;
        let ops = row.ops.iter().map(|op| op.count).sum::<u64>() as f64;
        let rate = amount / row.seconds();
        points.push((row.to_s, rate));
        if is_within(row, window) {
            within.push((rate, if ops > 0.0 { amount / ops } else { 0.0 }));
            sums = (sums.0 + amount, sums.1 + ops);
        }
    }
    let name = name.replace('_', " ");
    points.iter().any(|(_, rate)| *rate > 0.0).then_some(Counts { name, points, within, sums })
}

/// Whether the middle of an interval is in a window.
fn is_within(row: &IntervalRow, (from, to): (f64, f64)) -> bool {
    (from..=to).contains(&f64::midpoint(row.from_s, row.to_s))
}

impl Counts {
    fn line(self, number: usize, span: (f64, f64), window: (f64, f64)) -> CounterLine {
        let series = StatisticSeries {
            part: "the load",
            name: self.name,
            unit: "",
            is_rate: true,
            points: self.points,
        };
        let mut values: Vec<f64> = self.within.iter().map(|(rate, _)| *rate).collect();
        values.sort_by(f64::total_cmp);
        let highest_each = self.within.iter().map(|(_, each)| *each).fold(0.0, f64::max);
        let worded = |value: Option<f64>| value.map_or_else(|| words::NONE.to_owned(), words::figure);
        let (amount, ops) = self.sums;
        CounterLine {
            svg: course(&format!("counted-{number}"), &series, span, window),
            median: worded(median(&values)),
            highest: worded(values.last().copied()),
            each: worded((ops > 0.0).then(|| amount / ops)),
            highest_each: words::figure(highest_each),
            name: series.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_record::OpRow;

    use super::*;

    fn interval(from_s: f64, retries: u64, ops: u64) -> IntervalRow {
        let op = OpRow {
            op: "Pay".to_owned(),
            count: ops,
            failed: 0,
            p50_ms: 1.0,
            p99_ms: 1.0,
            max_ms: 1.0,
            over_limit: 0,
            requests: ops,
            outcomes: vec![],
        };
        IntervalRow { from_s, to_s: from_s + 1.0, ops: vec![op], counters: vec![0, retries], ..row() }
    }

    fn row() -> IntervalRow {
        IntervalRow {
            from_s: 0.0,
            to_s: 1.0,
            users: 1,
            starts: 0,
            late: 0,
            dropped: 0,
            skipped: 0,
            lag_p50_ms: 0.0,
            lag_p99_ms: 0.0,
            in_flight: 0.0,
            worker_cpu: 0.0,
            busiest_worker: 0.0,
            ops: vec![],
            counters: vec![],
        }
    }

    #[test]
    fn amounts_are_per_second_and_per_operation() {
        let rows =
            [interval(0.0, 900, 10), interval(1.0, 5, 100), interval(2.0, 20, 200), interval(3.0, 9, 0)];
        let rows: Vec<&IntervalRow> = rows.iter().collect();
        let window = (1.0, 3.0);
        let found = counts("lock_retries", 1, (&rows, window)).unwrap();
        assert_eq!(found.sums, (25.0, 300.0));
        assert_eq!((found.points.len(), found.points[3]), (4, (4.0, 9.0)));
        let line = found.line(0, (0.0, 4.0), window);
        assert_eq!([&*line.name, &*line.median, &*line.highest], ["lock retries", "12.5", "20.0"]);
        assert_eq!([&*line.each, &*line.highest_each], ["0.0833", "0.100"]);
        assert!(counts("none", 0, (&rows, window)).is_none());
    }
}
