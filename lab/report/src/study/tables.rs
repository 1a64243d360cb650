//! The tables of a study, the same in every form.

use barograph_record::{Conclusions, FindingRecord, KnownAs, MetricRecord, RowRecord, RunRecord};

use crate::comparison::p_value;
use crate::html::Grid;
use crate::words;

/// Heads of columns that hold words.
pub(super) const METRIC_WORDS: &[&str] =
    &["verdict", "compared with", "why", "run", "metric", "other factors"];

/// Description of a metric in a line.
pub(super) fn about(metric: &MetricRecord) -> String {
    format!("{} ({})", title(metric), bounds(metric))
}

/// A metric and its unit.
pub(super) fn title(metric: &MetricRecord) -> String {
    format!("{}, {}", metric.called(), metric.unit)
}

/// Direction, margin of equivalence and noise floor in words.
pub(super) fn bounds(metric: &MetricRecord) -> String {
    let better = if metric.more_is_better { "more is better" } else { "less is better" };
    let margin = words::percent(metric.margin);
    let floor = match metric.noise_floor {
        Some(floor) => format!("below ±{} it may be noise", words::percent(floor)),
        None => "noise floor unknown".to_owned(),
    };
    format!("{better}; within ±{margin} counts as the same; {floor}")
}

/// One row per configuration.
pub(super) fn metric(metric: &MetricRecord) -> Grid {
    let head = ["configuration", "median", "range", "ratio", "95 % interval", "p (Holm)", "pairs", "verdict"];
    let rows = metric.rows.iter().map(|row| {
        let is_baseline = row.finding == FindingRecord::Baseline;
        let unless_baseline = |text: String| if is_baseline { words::NONE.to_owned() } else { text };
        vec![
            row.configuration.clone(),
            words::figure(row.median),
            range(row),
            if is_baseline { "1".to_owned() } else { words::fixed(row.ratio, 3) },
            unless_baseline(interval(row.low, row.high, |ratio| words::fixed(ratio, 3))),
            unless_baseline(p_value(row.p_holm)),
            if is_baseline { words::counted(row.runs.into(), "run") } else { row.pairs.to_string() },
            verdict(row),
        ]
    });
    Grid::new(&head, rows.collect()).with_words(METRIC_WORDS)
}

fn range(row: &RowRecord) -> String {
    if row.runs < 2 {
        return words::NONE.to_owned();
    }
    format!("{} – {}", words::figure(row.lowest), words::figure(row.highest))
}

fn interval(low: f64, high: f64, told: fn(f64) -> String) -> String {
    if !(low.is_finite() && high.is_finite()) {
        return words::NONE.to_owned();
    }
    format!("{} – {}", told(low), told(high))
}

fn verdict(row: &RowRecord) -> String {
    let name = row.finding.name();
    let needed = match (row.finding, row.pairs_needed) {
        (FindingRecord::Undecided, Some(pairs)) => format!(", needs {pairs} pairs"),
        _ => String::new(),
    };
    format!("{} {name}{needed}", words::mark(row.finding))
}

/// The title above the table of runs, with the number of runs left out of it.
pub(super) fn runs_title(study: &Conclusions) -> String {
    match study.configurations.iter().map(|configuration| configuration.warm_up).sum::<u32>() {
        0 => "Runs".to_owned(),
        made => format!("Runs, besides {made} of warm-up, not judged"),
    }
}

/// Number of runs of each configuration.
pub(super) fn runs(study: &Conclusions) -> Grid {
    let rows = study.configurations.iter().map(|c| {
        let against = if c.baseline == c.name { words::NONE } else { &c.baseline };
        vec![
            c.name.clone(),
            c.valid.to_string(),
            c.missed.to_string(),
            c.dropped.to_string(),
            c.stolen.map_or_else(
                || words::NONE.to_owned(),
                |(usual, most)| interval(usual, most, words::percent),
            ),
            against.to_owned(),
        ]
    });
    let head = [
        "configuration",
        "valid runs",
        "of them broke a rule",
        "dropped",
        "CPU stolen, median – most",
        "compared with",
    ];
    Grid::new(&head, rows.collect()).with_words(METRIC_WORDS)
}

/// Every used run.
pub(super) struct EveryRun {
    /// The metrics, with their units.
    pub(super) metrics: Vec<String>,
    pub(super) rows: Vec<UsedRun>,
}

/// A used run.
pub(super) struct UsedRun {
    pub(super) run: String,
    pub(super) block: u32,
    pub(super) configuration: String,
    pub(super) rules: &'static str,
    /// One figure per metric.
    pub(super) figures: Vec<String>,
}

/// All runs, to show the figures behind each median.
pub(super) fn every_run(study: &Conclusions) -> EveryRun {
    let told = |run: &RunRecord, label: &String| {
        let Some(figure) = run.figures.iter().find(|figure| figure.name == *label) else {
            return words::NONE.to_owned();
        };
        let least = if run.bounded.contains(label) { words::AT_LEAST } else { "" };
        format!("{least}{}", words::figure(figure.value))
    };
    let row = |run: &RunRecord| UsedRun {
        run: run.run.clone(),
        block: run.block,
        configuration: run.configuration.clone(),
        rules: if run.passed { "kept" } else { "broken" },
        figures: study.metrics.iter().map(|metric| told(run, &metric.label)).collect(),
    };
    EveryRun {
        metrics: study.metrics.iter().map(title).collect(),
        rows: study.runs.iter().map(row).collect(),
    }
}

/// Excluded runs with the reasons.
pub(super) fn excluded(study: &Conclusions) -> Option<Grid> {
    let rows = study.excluded.iter().map(|run| {
        vec![run.configuration.clone(), run.block.to_string(), run.run.clone(), run.reasons.join("; ")]
    });
    let grid = Grid::new(&["configuration", "block", "run", "why"], rows.collect());
    (!study.excluded.is_empty()).then(|| grid.with_words(METRIC_WORDS))
}

/// Crossings of limits.
pub(super) fn crossings(study: &Conclusions) -> Option<Grid> {
    let rows = study.crossings.iter().map(|crossing| {
        vec![
            crossing.factor.clone(),
            crossing.metric.clone(),
            crossing.among.clone(),
            format!("{} {}", words::figure(crossing.limit), crossing.unit),
            words::maybe(crossing.at),
            interval(crossing.low, crossing.high, words::figure),
            words::percent(crossing.reached),
        ]
    });
    let head =
        ["factor", "metric", "other factors", "limit", "reached at", "95 % interval", "how often reached"];
    let grid = Grid::new(&head, rows.collect());
    (!study.crossings.is_empty()).then(|| grid.with_words(METRIC_WORDS))
}

/// Sign before a figure that rests on lower bounds.
pub(super) fn sign(known: KnownAs) -> &'static str {
    match known {
        KnownAs::Exact => "",
        KnownAs::AtLeast => words::AT_LEAST,
        KnownAs::AtMost => "≤ ",
        KnownAs::Unknown => "? ",
    }
}

/// Speed by size, a table per row of configurations.
pub(super) fn growths(study: &Conclusions) -> Vec<(String, Grid)> {
    let tables = study.scaling.iter().map(|scaling| {
        let rows = scaling.points.iter().map(|point| {
            let sign = sign(scaling.growth_to(point.n));
            let least = if scaling.bounded.contains(&point.n) { words::AT_LEAST } else { "" };
            vec![
                words::size(point.n),
                format!("{least}{}", words::figure(point.x)),
                interval(point.low, point.high, words::figure),
                format!("{sign}{}", words::fixed(point.speedup, 2)),
                interval(point.speedup_within.low, point.speedup_within.high, |x| words::fixed(x, 2)),
                format!("{sign}{}", words::percent(point.efficiency)),
                point.serial.map_or_else(|| words::NONE.to_owned(), words::percent),
            ]
        });
        let head = [
            scaling.factor.as_str(),
            &scaling.metric,
            "95 % interval",
            "speed-up",
            "95 % interval of it",
            "efficiency",
            "serial part (Karp-Flatt)",
        ];
        let among = if scaling.among.is_empty() { String::new() } else { format!(", {}", scaling.among) };
        let title = format!("{} by {}{among}", scaling.metric, scaling.factor);
        (title, Grid::new(&head, rows.collect()))
    });
    tables.collect()
}
