//! Comparisons with known contents, for the tests of their forms.

use barograph_record::{ComparisonRecord, FindingRecord, MetricRecord, RowRecord, WithinRunNoise};
use barograph_stats::compare::{
    Comparison, Direction, IntervalEstimate, Pair, compare, compare_believed, judge,
};

fn spread((base, ratio): (f64, f64), spread: f64) -> Vec<Pair> {
    (0..10).map(|i| Pair::new(base, base * ratio * ((f64::from(i) - 4.5) / 4.5 * spread).exp())).collect()
}

fn metric(
    (name, unit): (&str, &str),
    direction: Direction,
    baseline: f64,
    found: &Comparison,
) -> MetricRecord {
    let row = |median: f64| RowRecord { median, ..RowRecord::default() };
    MetricRecord {
        label: name.to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        more_is_better: direction == Direction::Higher,
        margin: 0.02,
        rows: vec![row(baseline), row(baseline * found.ratio).with(found)],
        ..MetricRecord::default()
    }
}

/// One search per side: 11,100 (10,800 to 11,400) against a candidate with this capacity and interval.
pub(super) fn searched((value, low, high): (f64, f64, f64)) -> ComparisonRecord {
    let baseline = IntervalEstimate::new(11_100.0, 10_800.0, 11_400.0).unwrap();
    let candidate = IntervalEstimate::new(value, low, high).unwrap();
    let found = compare_believed(baseline, candidate, Direction::Higher, 0.02);
    let mut metric = metric(("capacity", "users"), Direction::Higher, baseline.value, &found);
    metric.rows[1].finding = FindingRecord::Undecided;
    ComparisonRecord {
        metrics: vec![metric],
        believed: Some((baseline, candidate)),
        within_run: Vec::new(),
        sentence: "Undecided: the two searches differ by more than their trials leave open (capacity +16.2 %, 95 % interval \
                   +11.5 % to +21.1 %). One search a side cannot tell a change from how the next start of the same target \
                   differs: `barograph study` repeats whole searches."
            .to_owned(),
        ..single()
    }
}

/// One metric worse, one equivalent, one undecided.
pub(super) fn compared() -> ComparisonRecord {
    let all = [
        (("throughput", "op/s"), Direction::Higher, (432.0, 1.001), 0.01),
        (("Order p99", "ms"), Direction::Lower, (120.0, 1.25), 0.05),
        (("a \"<b>\" | p99", "ms"), Direction::Lower, (8.0, 1.05), 0.4),
    ];
    let mut family =
        all.map(|(_, direction, at, part)| (direction, compare(&spread(at, part), direction, 0.02)));
    judge(&mut family);
    let metrics = all.iter().zip(&family);
    ComparisonRecord {
        baseline: "main".to_owned(),
        candidate: "branch & more".to_owned(),
        sentence: "The candidate: 1 worse, 1 undecided, 1 equivalent (of 3 metrics, 10 pairs; differences up to 2.00 % do not \
                   count)."
            .to_owned(),
        metrics: metrics.map(|((name, direction, at, _), (_, found))| metric(*name, *direction, at.0, found)).collect(),
        warnings: vec!["the tool is another version".to_owned()],
        notes: vec!["no operation failed".to_owned()],
        ..ComparisonRecord::default()
    }
}

/// One run per side.
pub(super) fn single() -> ComparisonRecord {
    let found = compare(&[Pair::new(100.0, 130.0)], Direction::Lower, 0.02);
    ComparisonRecord {
        baseline: "20301120-184500-0001".to_owned(),
        candidate: "20301120-194500-0002".to_owned(),
        sentence: "Undecided: one run each. Runs differ from each other by more than what one of them shows; `barograph \
                   study` repeats both in random order, and `barograph compare A1,A2,.. B1,B2,..` compares runs that are \
                   there already, pair by pair."
            .to_owned(),
        metrics: vec![metric(("Order p99", "ms"), Direction::Lower, 100.0, &found)],
        within_run: vec![WithinRunNoise { metric: "Order p99".to_owned(), low: 1.2, high: 1.4, blocks: 30 }],
        ..ComparisonRecord::default()
    }
}
