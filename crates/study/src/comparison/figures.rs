//! What a run has to offer for a comparison: one figure per metric, from the windows that count.

use std::collections::HashMap;

use barograph_model::words;
use barograph_record::{
    IntervalRow, KeptBetter, KeptMeasure, KeptOp, KeptWindow, Purpose, Run, Trial, cpu_per_operation, tag,
};
use barograph_stats::compare::Direction;

/// Name of the metric that counts failures.
pub(super) const FAILURES: &str = "failed operations";
/// Name of the metric that a search is compared by.
pub(super) const CAPACITY: &str = "capacity";

/// One figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunFigure {
    /// The metric.
    pub(super) name: String,
    /// Its unit.
    pub(super) unit: String,
    /// Which way is better.
    pub(super) direction: Direction,
    /// How much.
    pub(super) value: f64,
    /// Where in the run it comes from.
    pub(super) source: Source,
}

/// Where a figure comes from, for those who want to know how it scatters inside of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// Good operations per second.
    Throughput,
    /// A quantile of an operation's response time.
    Quantile { op: String, quantile: f64 },
    /// Cores used by a subject of the probe, per operation that ended well.
    Cpu { subject: &'static str },
    /// Something that is there once per run.
    Once,
}

/// The windows that a run's figures come from: all windows of a fixed load that can be believed, else the one the answer
/// rests on. A search has windows at many levels, of which none is comparable with those of another search.
pub(super) fn windows(run: &Run) -> Vec<&Trial> {
    let Some(deciding) = run.deciding_trial() else { return Vec::new() };
    if deciding.purpose != Purpose::Fixed {
        return vec![deciding];
    }
    let same = |trial: &&Trial| trial.purpose == Purpose::Fixed && trial.level == deciding.level;
    run.trials().filter(same).filter(|trial| trial.window.valid).collect()
}

/// The intervals in these windows.
pub(super) fn intervals<'r>(run: &'r Run, windows: &[&Trial]) -> Vec<&'r IntervalRow> {
    let inside = |row: &&IntervalRow| windows.iter().any(|trial| trial.window.holds(row.from_s, row.to_s));
    run.intervals().filter(inside).collect()
}

/// Everything a run can be compared by. After a search that is the capacity alone.
pub(super) fn figures(run: &Run) -> Vec<RunFigure> {
    if let Some(verdict) = run.verdict().filter(|verdict| verdict.search.is_some()) {
        let capacity = verdict.capacity.map_or(f64::NAN, f64::from);
        return vec![figure(CAPACITY, verdict.unit.name(), Direction::Higher, capacity, Source::Once)];
    }
    let windows = windows(run);
    let seconds: f64 = windows.iter().map(|trial| trial.window.seconds()).sum();
    if windows.is_empty() || seconds <= 0.0 {
        return Vec::new();
    }
    let over = |value: &dyn Fn(&Trial) -> f64| {
        windows.iter().map(|trial| value(trial) * trial.window.seconds()).sum::<f64>() / seconds
    };
    let throughput = over(&|trial| trial.window.throughput);
    let mut all = vec![figure("throughput", "op/s", Direction::Higher, throughput, Source::Throughput)];
    if let [only] = windows[..]
        && let Some(elapsed) = only.elapsed_s()
    {
        // It is what throughput makes of the operations, and scatters as that does.
        all.push(figure("elapsed time", "s", Direction::Lower, elapsed, Source::Throughput));
    }
    all.extend(quantiles(run, &windows));
    all.extend(measures(&windows));
    let ended: u64 = windows.iter().flat_map(|trial| &trial.window.ops).map(|op| op.count).sum();
    let failed: u64 = windows.iter().flat_map(|trial| &trial.window.ops).map(|op| op.failed).sum();
    let app = over(&|trial| trial.resources.app_cores.unwrap_or(f64::NAN));
    let driver = over(&|trial| trial.resources.driver_cores.unwrap_or(f64::NAN));
    for (name, cores, subject) in
        [("application CPU per operation", app, "app"), ("driver CPU per operation", driver, "driver")]
    {
        if cores.is_finite() && throughput > 0.0 {
            let cpu = cpu_per_operation(cores, throughput);
            all.push(figure(name, "µs", Direction::Lower, cpu, Source::Cpu { subject }));
        }
    }
    // Half a failure is added, because none at all has no ratio to anything.
    let share = (failed as f64 + 0.5) / (ended as f64 + 1.0) * 100.0;
    all.push(figure(FAILURES, "%", Direction::Lower, share, Source::Once));
    all
}

/// Operations that failed in the windows that count, and all of them.
pub(super) fn failures(run: &Run) -> (u64, u64) {
    let windows = windows(run);
    let ops = || windows.iter().flat_map(|trial| &trial.window.ops);
    (ops().map(|op| op.failed).sum(), ops().map(|op| op.count).sum())
}

fn figure(name: &str, unit: &str, direction: Direction, value: f64, source: Source) -> RunFigure {
    RunFigure { name: name.to_owned(), unit: unit.to_owned(), direction, value, source }
}

/// Measures of the workload of which more or less is better, each the mean of its windows by their length.
fn measures(windows: &[&Trial]) -> Vec<RunFigure> {
    let of = |kept: &KeptMeasure| {
        let direction = match kept.better {
            KeptBetter::Higher => Direction::Higher,
            KeptBetter::Lower => Direction::Lower,
            KeptBetter::Neither => return None,
        };
        let (mut sum, mut seconds) = (0.0, 0.0);
        for trial in windows {
            let same = trial.window.measures.iter().find(|other| other.id == kept.id);
            let Some(value) = same.and_then(|same| same.value) else { continue };
            sum += value * trial.window.seconds();
            seconds += trial.window.seconds();
        }
        (seconds > 0.0).then(|| figure(&kept.title, &kept.unit, direction, sum / seconds, Source::Once))
    };
    windows[0].window.measures.iter().filter_map(of).collect()
}

/// The judged quantile of every judged operation; where nothing is judged, p99 of all.
fn quantiles(run: &Run, windows: &[&Trial]) -> Vec<RunFigure> {
    let first = &windows[0].window.ops;
    let timed = |op: &&KeptOp| op.judged && op.limit_ms.is_some();
    let judged: Vec<&KeptOp> = first.iter().filter(timed).collect();
    let (chosen, none_judged) =
        if judged.is_empty() { (first.iter().collect(), true) } else { (judged, false) };
    let told =
        |op: &KeptOp| run.expected()?.rules.iter().find(|rule| rule.op == op.op).map(|rule| rule.quantile);
    let kept: Vec<&KeptWindow> = windows.iter().map(|trial| &trial.window).collect();
    let times = if kept.len() > 1 { run.times_in(&kept) } else { HashMap::new() };
    let mut all = Vec::new();
    for op in chosen {
        let quantile = if none_judged { 0.99 } else { told(op).unwrap_or(0.99) };
        let value = if windows.len() > 1 {
            // A log that lost some lines would tell another quantile.
            let counts =
                |trial: &&Trial| trial.window.ops.iter().find(|of| of.op == op.op).map(|of| of.count);
            let counted: u64 = windows.iter().filter_map(counts).sum();
            let whole = times.get(&tag(&op.op)).filter(|of| counted > 0 && of.len() == counted);
            whole.map(|of| of.value_at_quantile(quantile) as f64 / 1e3)
        } else {
            (op.count > 0).then_some(if none_judged { op.p99_ms } else { op.judged_ms })
        };
        let name = format!("{} {}", op.op, words::quantile(quantile));
        let source = Source::Quantile { op: op.op.clone(), quantile };
        all.extend(value.map(|ms| figure(&name, "ms", Direction::Lower, ms, source)));
    }
    all
}
