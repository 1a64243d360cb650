//! The loads of a run of several, side by side.

use barograph_record::{CopiesRate, Run, Trial};

use crate::curve::worst;
use crate::html::Grid;
use crate::words;

/// Offered load and result of each load, with links to their pages; `None` for one load.
pub(crate) fn table(run: &Run) -> Option<Grid> {
    if run.loads.is_empty() {
        return None;
    }
    let each = run.load_names().iter().zip(&run.loads);
    let rows = each.map(|(name, load)| row(name, load)).collect();
    let head = [
        "load",
        "workload",
        "offered",
        "operations/s",
        "closest to its limit",
        "application cores",
        "application memory",
        "driver cores",
        "kept its rules",
        "valid",
    ];
    Some(Grid::new(&head, rows).with_words(&[
        "workload",
        "offered",
        "closest to its limit",
        "kept its rules",
        "valid",
    ]))
}

/// Measures of copies of one load that add up, with a row for each and one for all; `None` for other loads.
pub(crate) fn copies(run: &Run) -> Option<Grid> {
    let rates = run.rates_of_copies();
    let shown: Vec<&CopiesRate> = CopiesRate::shown(&rates).collect();
    let head = shown.iter().map(|rate| format!("{} {}", rate.title, rate.unit));
    let head: Vec<String> = std::iter::once("load".to_owned()).chain(head).collect();
    let row = |name: &str, value: &dyn Fn(&CopiesRate) -> Option<f64>| {
        let values =
            shown.iter().map(|rate| value(rate).map_or_else(|| words::NONE.to_owned(), words::figure));
        std::iter::once(name.to_owned()).chain(values).collect()
    };
    let each = run.load_names().iter().enumerate().map(|(at, name)| row(name, &|rate| rate.each[at]));
    let rows: Vec<Vec<String>> = each.chain([row("all", &CopiesRate::total)]).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    (!shown.is_empty()).then(|| Grid::new(&head, rows))
}

fn row(name: &str, load: &Run) -> Vec<String> {
    let none = || words::NONE.to_owned();
    let trial = load.deciding_trial();
    let used = trial.map(|trial| trial.resources);
    let yes = |is: bool| if is { "yes" } else { "NO" }.to_owned();
    vec![
        name.to_owned(),
        load.expected().map_or_else(none, |expected| format!("{}, {}", expected.workload, expected.profile)),
        trial.map_or_else(none, |trial| words::offered(trial.offered())),
        trial.map_or_else(none, |trial| words::fixed(trial.window.throughput, 1)),
        trial.and_then(worst).map_or_else(none, |(op, share)| format!("{}, {:.0} %", op.op, share * 100.0)),
        used.and_then(|used| used.app_cores).map_or_else(none, |cores| words::fixed(cores, 2)),
        used.and_then(|used| used.app_rss_bytes).map_or_else(none, |bytes| words::bytes(bytes as f64)),
        trial.and_then(|trial| worker_cores(load, trial)).map_or_else(none, |cores| words::fixed(cores, 3)),
        load.verdict().map_or_else(none, |verdict| yes(verdict.passed)),
        load.verdict().map_or_else(none, |verdict| yes(verdict.valid)),
    ]
}

/// Cores that the workers of a load used in the window of a trial.
fn worker_cores(load: &Run, trial: &Trial) -> Option<f64> {
    let window = &trial.window;
    let middle = |from_s: f64, to_s: f64| (from_s + to_s) / 2.0;
    let within =
        load.intervals().filter(|row| (window.from_s..window.to_s).contains(&middle(row.from_s, row.to_s)));
    let (cpu_s, seconds) = within.fold((0.0, 0.0), |(cpu_s, seconds), row| {
        let length = row.to_s - row.from_s;
        (cpu_s + row.worker_cpu * length, seconds + length)
    });
    (seconds > 0.0).then(|| cpu_s / seconds)
}
