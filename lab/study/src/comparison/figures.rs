//! Figures of a run for a comparison: one per metric, from the windows that count.

use barograph_model::{BetterWhen, Metric, words};
use barograph_record::{
    BetterWhenRecord, IntervalRow, MeasureRecord, OpRecord, Purpose, Run, Trial, WindowFigures,
};
use barograph_stats::compare::Direction;

/// One figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunFigure {
    /// Index of its load.
    pub(super) load: usize,
    /// The metric; `None` for a measure of the workload.
    pub(super) metric: Option<Metric>,
    /// Key of the figure: the metric with its operation and quantile, or the id of the measure.
    pub(super) label: String,
    /// The name in tables.
    pub(super) name: String,
    /// Its unit.
    pub(super) unit: String,
    /// The better direction.
    pub(super) direction: Direction,
    /// Its value.
    pub(super) value: f64,
    /// Its origin within the run.
    pub(super) source: Source,
}

impl RunFigure {
    /// A metric of the whole run, under its name in sentences.
    fn of(metric: Metric, unit: &str, value: f64, source: Source) -> Self {
        RunFigure {
            metric: Some(metric),
            load: 0,
            label: metric.name().to_owned(),
            name: metric.words().to_owned(),
            unit: unit.to_owned(),
            direction: if metric.better() == BetterWhen::Higher {
                Direction::Higher
            } else {
                Direction::Lower
            },
            value,
            source,
        }
    }
}

/// Origin of a figure, for the computation of its scatter within the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// Good operations per second.
    Throughput,
    /// A quantile of an operation's response time.
    Quantile { op: String, quantile: f64 },
    /// Cores used by a subject of the probe, per operation that ended well.
    Cpu { subject: &'static str },
    /// A figure with one value per run.
    Once,
}

/// The windows behind a run's figures: all valid windows of a fixed load, otherwise the deciding one. A
/// search has windows at many levels, none of which is comparable with those of another search.
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

/// All comparable figures of a run. After a search that is the capacity alone; of several loads each has
/// figures of its own, under names that begin with that of the load, after the score of tiles.
pub(super) fn figures(run: &Run) -> Vec<RunFigure> {
    if let Some(verdict) = run.verdict().filter(|verdict| verdict.search.is_some()) {
        let capacity = verdict.capacity.map_or(f64::NAN, f64::from);
        return vec![RunFigure::of(Metric::Capacity, verdict.unit.name(), capacity, Source::Once)];
    }
    let score = run.metric(Metric::Score, None);
    let score = score.map(|score| RunFigure::of(Metric::Score, Metric::Score.unit(), score, Source::Once));
    let each = run.each_load().iter().enumerate();
    let of = |(at, load): (usize, &Run)| {
        let named = |text: &str| load.load.as_ref().map_or(text.to_owned(), |load| format!("{load}/{text}"));
        let of_load = |figure: RunFigure| RunFigure {
            load: at,
            label: named(&figure.label),
            name: named(&figure.name),
            ..figure
        };
        figures_of(load).into_iter().map(of_load).collect::<Vec<_>>()
    };
    score.into_iter().chain(each.flat_map(of)).collect()
}

/// The figures of one load.
fn figures_of(run: &Run) -> Vec<RunFigure> {
    let found = run.figures_in(windows(run));
    let Some(first) = found.windows().first() else { return Vec::new() };
    let of = |metric: Metric, unit: &str, source: Source| {
        Some(RunFigure::of(metric, unit, found.metric(metric, None)?, source))
    };
    let throughput = of(Metric::Throughput, "op/s", Source::Throughput);
    // It follows from throughput and the number of operations, and scatters in the same way.
    let elapsed = of(Metric::Elapsed, Metric::Elapsed.unit(), Source::Throughput);
    let measures = first.window.measures.iter().filter_map(|kept| measure(&found, kept));
    let cpu = [(Metric::CpuPerOperation, "app"), (Metric::DriverCpuPerOperation, "driver")];
    let cpu = cpu.map(|(metric, subject)| of(metric, metric.unit(), Source::Cpu { subject }));
    // Half a failure is added, because zero has no ratio to anything.
    let (failed, ended) = found.failures();
    let share = (failed as f64 + 0.5) / (ended as f64 + 1.0) * 100.0;
    let failures =
        RunFigure::of(Metric::FailedOperations, Metric::FailedOperations.unit(), share, Source::Once);
    throughput
        .into_iter()
        .chain(elapsed)
        .chain(quantiles(run, &found))
        .chain(measures)
        .chain(cpu.into_iter().flatten())
        .chain([failures])
        .collect()
}

/// Failed operations of all loads in the windows that count, and all operations.
pub(super) fn failures(run: &Run) -> (u64, u64) {
    let each = run.each_load().iter().map(|load| load.figures_in(windows(load)).failures());
    each.fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1))
}

/// A measure of the workload with a better direction.
fn measure(found: &WindowFigures<'_>, kept: &MeasureRecord) -> Option<RunFigure> {
    let direction = match kept.better {
        BetterWhenRecord::Higher => Direction::Higher,
        BetterWhenRecord::Lower => Direction::Lower,
        BetterWhenRecord::Neither => return None,
    };
    Some(RunFigure {
        load: 0,
        metric: None,
        label: kept.id.clone(),
        name: kept.title.clone(),
        unit: kept.unit.clone(),
        direction,
        value: found.measure(&kept.id)?,
        source: Source::Once,
    })
}

/// The judged quantile of every judged operation; without judged ones, p99 of all.
fn quantiles(run: &Run, found: &WindowFigures<'_>) -> Vec<RunFigure> {
    let Some(first) = found.windows().first() else { return Vec::new() };
    let timed = |op: &&OpRecord| op.judged && op.limit_ms.is_some();
    let judged: Vec<&OpRecord> = first.window.ops.iter().filter(timed).collect();
    let (chosen, metric) = match judged.is_empty() {
        true => (first.window.ops.iter().collect(), Metric::ResponseP99),
        false => (judged, Metric::ResponseJudged),
    };
    let figure = |op: &OpRecord| {
        let quantile = metric.quantile().unwrap_or_else(|| run.judged_quantile(&op.op));
        let value = found.metric(metric, Some(&op.op))?;
        let source = Source::Quantile { op: op.op.clone(), quantile };
        let name = format!("{} {}", op.op, words::quantile(quantile));
        let label = format!("{} of {name}", metric.name());
        Some(RunFigure { label, name, ..RunFigure::of(metric, metric.unit(), value, source) })
    };
    chosen.into_iter().filter_map(figure).collect()
}
