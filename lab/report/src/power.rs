//! Power of the machine in the deciding window: in total, per operation, by source, and without load.

use barograph_model::Metric;
use barograph_record::{Run, Trial};

use crate::html::Grid;
use crate::words;

/// The section of the report.
pub(crate) struct PowerSection {
    /// The figures in sentences, or the reason for their absence.
    pub(crate) lede: String,
    /// Figures of each source.
    pub(crate) sources: Option<Grid>,
}

/// The section; `None` without a measured window, and for one of several loads, which use the machine
/// together.
pub(crate) fn section(run: &Run) -> Option<PowerSection> {
    if run.load.is_some() {
        return None;
    }
    let trial = run.each_load().first()?.deciding_trial()?;
    Some(PowerSection { lede: lede(run, trial), sources: sources(run, trial) })
}

fn lede(run: &Run, trial: &Trial) -> String {
    let figure = |metric: Metric| run.metric(metric, None).map(words::figure);
    let Some(power) = run.power_in(&trial.window) else {
        let why = match run.power_sources().is_empty() {
            true => "Not available: this machine shows no source of power, and the plan names no meter.",
            false => "Not available: the source of the widest scope has a gap in this window.",
        };
        let cpu = figure(Metric::HostCpuPerOperation);
        let instead = cpu.map(|us| format!(" The CPU time of the host is {us} µs per operation."));
        return format!("{why}{}", instead.unwrap_or_default());
    };
    let mut text = format!("{} W, scope {}", words::figure(power.watts), power.scope);
    if let Some((joules, per_joule)) =
        figure(Metric::EnergyPerOperation).zip(figure(Metric::OperationsPerEnergy))
    {
        text.push_str(&format!("; {joules} J per operation, {per_joule} operations/J"));
    }
    if let Some(score) = figure(Metric::ScorePerPower) {
        text.push_str(&format!("; score {score} per kW"));
    }
    let idle = run.idle_power().map(|idle| format!(" Without load: {} W.", words::figure(idle.watts)));
    format!("{text}.{}", idle.unwrap_or_default())
}

fn sources(run: &Run, trial: &Trial) -> Option<Grid> {
    let start = run.load_start_s()?;
    let (from, to) = (trial.window.from_s + start, trial.window.to_s + start);
    let row = |source: &&str| {
        let joules = run.energy_j(source, (from, to));
        let idle =
            run.idle_span().and_then(|(from, to)| Some(run.energy_j(source, (from, to))? / (to - from)));
        let or_none = |value: Option<f64>| value.map_or_else(|| words::NONE.to_owned(), words::figure);
        let watts = joules.map(|joules| joules / (to - from));
        vec![(*source).to_owned(), or_none(watts), or_none(joules), or_none(idle)]
    };
    let rows: Vec<Vec<String>> = run.power_sources().iter().map(row).collect();
    (!rows.is_empty()).then(|| Grid::new(&["Source", "Mean W", "Energy J", "Without load W"], rows))
}
