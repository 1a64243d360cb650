//! Comparisons with known contents, for the tests of their forms.

use barograph_stats::compare::{Believed, Direction, Pair, compare, judge};

use super::{Compared, ComparedMetric, WithinRun, searches};

fn metric(
    name: &str,
    unit: &str,
    direction: Direction,
    (base, ratio): (f64, f64),
    spread: f64,
) -> ComparedMetric {
    let pairs: Vec<Pair> = (0..10)
        .map(|i| Pair::new(base, base * ratio * ((f64::from(i) - 4.5) / 4.5 * spread).exp()))
        .collect();
    metric_of(name, unit, direction, &pairs)
}

fn metric_of(name: &str, unit: &str, direction: Direction, pairs: &[Pair]) -> ComparedMetric {
    let comparison = compare(pairs, direction, 0.02);
    let baseline = pairs[0].baseline;
    ComparedMetric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        direction,
        baseline,
        candidate: baseline * comparison.ratio,
        comparison,
        believed: None,
    }
}

/// One search a side: 11,100 (10,800 to 11,400) against a candidate with this capacity and interval.
pub(super) fn searched((value, low, high): (f64, f64, f64)) -> Compared {
    let baseline = Believed::new(11_100.0, 10_800.0, 11_400.0).unwrap();
    let candidate = Believed::new(value, low, high).unwrap();
    let metric = ComparedMetric {
        name: "capacity".to_owned(),
        unit: "users".to_owned(),
        direction: Direction::Higher,
        baseline: baseline.value,
        candidate: candidate.value,
        comparison: searches::of_one_each(baseline, candidate, Direction::Higher, 0.02),
        believed: Some((baseline, candidate)),
    };
    Compared { metrics: vec![metric], within_run: Vec::new(), ..single() }
}

/// One worse, one equivalent, one undecided.
pub(super) fn compared() -> Compared {
    let mut metrics = vec![
        metric("throughput", "op/s", Direction::Higher, (432.0, 1.001), 0.01),
        metric("Login p99", "ms", Direction::Lower, (120.0, 1.25), 0.05),
        metric("a \"<b>\" | p99", "ms", Direction::Lower, (8.0, 1.05), 0.4),
    ];
    let mut family: Vec<_> = metrics.iter().map(|m| (m.direction, m.comparison)).collect();
    judge(&mut family);
    for (metric, (_, judged)) in metrics.iter_mut().zip(family) {
        metric.comparison = judged;
    }
    Compared {
        baseline: "main".to_owned(),
        candidate: "branch & more".to_owned(),
        metrics,
        within_run: Vec::new(),
        warnings: vec!["the tool is another version".to_owned()],
        notes: vec!["no operation failed".to_owned()],
    }
}

/// One run a side.
pub(super) fn single() -> Compared {
    Compared {
        baseline: "20301120-184500-0001".to_owned(),
        candidate: "20301120-194500-0002".to_owned(),
        metrics: vec![metric_of("Login p99", "ms", Direction::Lower, &[Pair::new(100.0, 130.0)])],
        within_run: vec![WithinRun { metric: "Login p99".to_owned(), low: 1.2, high: 1.4, blocks: 30 }],
        ..Compared::default()
    }
}
