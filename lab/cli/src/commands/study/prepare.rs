//! Preparation of a study on this machine: every configuration's plan is read and checked before the first
//! run.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use barograph_harness::{CheckedLoad, HarnessError};
use barograph_model::words::listed;
use barograph_model::{ChosenWindow, LoadUnit, Metric, Refusal, Refusals, Strategy};
use barograph_platform::MissingRequirement;
use barograph_record::ExitCode;
use barograph_spec::Plan;
use barograph_spec::study::{Divisor, Factor, MOST_METRICS, MetricPlan, Study};

use super::refused;
use crate::args::StudyArgs;
use crate::catalog::WORKLOADS;
use crate::commands::{CommandFailure, check};

/// Typed arguments.
pub(super) struct StudyOptions {
    pub(super) file: PathBuf,
    pub(super) sets: Vec<String>,
    pub(super) repeats: Option<u32>,
    pub(super) only: Vec<String>,
}

impl StudyOptions {
    pub(super) fn typed(args: &StudyArgs) -> Result<Self, CommandFailure> {
        let file = args.study.clone().context("name a study; `barograph list studies` shows them");
        Ok(StudyOptions {
            file: file.map_err(refused)?,
            sets: args.sets.clone(),
            repeats: args.repeats,
            only: args.only.clone(),
        })
    }
}

/// A study that is possible here, except for missing requirements.
pub(super) struct PreparedStudy {
    pub(super) study: Study,
    /// Text of its plan.
    pub(super) text: String,
    pub(super) sets: Vec<String>,
    /// Loads of each configuration, by its index.
    pub(super) checked: Vec<Vec<CheckedLoad>>,
}

/// Reads a study and checks the plans of all its configurations.
pub(super) fn prepare(asked: &StudyOptions) -> Result<PreparedStudy, CommandFailure> {
    let name = asked.file.display().to_string();
    let text = std::fs::read_to_string(&asked.file);
    let text = text
        .with_context(|| format!("read study `{name}`; `barograph list studies` shows those that exist"))
        .map_err(refused)?;
    let study = barograph_spec::study::read_with(&WORKLOADS.readers(), &name, &text);
    let mut study = study.map_err(|why| of_study(&why))?;
    if let Some(blocks) = asked.repeats {
        study.repeats.blocks = blocks;
        study.repeats.most = match study.repeats.width {
            Some(_) => study.repeats.most.max(blocks),
            None => blocks,
        };
    }
    let mut named = Vec::new();
    for only in &asked.only {
        let (rest, factor) = leave_only(study, only)?;
        named.push(factor);
        study = rest;
    }
    study = study.without_levels_on_request(&named).without_unused_metrics();
    if study.metrics.is_empty() {
        return Err(only_refused(&asked.only.join(" "), "levels with a metric".to_owned()));
    }
    if let Some(refusal) = asked.sets.iter().find_map(|set| varied(&study, set)) {
        return Err(of_study(&Refusals(vec![refusal])));
    }
    let text = check::read(&study.plan)?;
    let mut prepared = PreparedStudy { study, text, sets: asked.sets.clone(), checked: Vec::new() };
    for at in 0..prepared.study.configurations.len() {
        let loads = prepared.check(at, &[])?;
        if at == 0 {
            prepared.study = of_each_load(prepared.study, &loads)?;
        }
        measurable(&prepared.study, at, &loads)?;
        prepared.checked.push(loads);
    }
    divisible(&prepared)?;
    alike(&prepared)?;
    Ok(prepared)
}

fn of_study(why: &Refusals) -> CommandFailure {
    refused(anyhow!("the study cannot be carried out\n{why}"))
}

/// The refusal of `--only`.
fn only_refused(only: &str, allowed: String) -> CommandFailure {
    of_study(&Refusals(vec![Refusal {
        place: "--only".to_owned(),
        key: only.to_owned(),
        value: String::new(),
        allowed,
        remedy: "name a factor of the study and levels of it, as in --only platform=process,container"
            .to_owned(),
    }]))
}

/// Removes the levels that `--only` does not name; returns the index of its factor, too.
fn leave_only(study: Study, only: &str) -> Result<(Study, usize), CommandFailure> {
    let refuse = |allowed: String| only_refused(only, allowed);
    let factors: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    let (name, levels) = only.split_once('=').unwrap_or((only, ""));
    let Some(factor) = factors.iter().position(|known| *known == name) else {
        return Err(refuse(format!("FACTOR=LEVEL,LEVEL with one of {}", factors.join(", "))));
    };
    let known = &study.factors[factor].levels;
    let places: Option<Vec<usize>> =
        levels.split(',').map(|level| known.iter().position(|other| other.name == level)).collect();
    let Some(places) = places else {
        let names: Vec<&str> = known.iter().map(|level| level.name.as_str()).collect();
        return Err(refuse(format!("levels among {}", names.join(", "))));
    };
    let study = study.only(factor, &places);
    let no_baseline = study.configurations.iter().any(|c| study.baseline_of(c).is_none());
    if study.configurations.is_empty() || no_baseline {
        return Err(refuse("levels of which some are listed, with their baseline".to_owned()));
    }
    Ok((study, factor))
}

/// Refuses an override whose key a factor varies.
fn varied(study: &Study, set: &str) -> Option<Refusal> {
    let (key, value) = set.split_once('=')?;
    let factor = varying(study, key.trim())?;
    Some(Refusal {
        place: "--set".to_owned(),
        key: key.trim().to_owned(),
        value: value.trim().to_owned(),
        allowed: format!("keys that no factor varies; this one is varied by `{}`", factor.name),
        remedy: format!("leave it out, or run some levels only: --only {}=LEVEL", factor.name),
    })
}

/// The factor that varies a key, or a key below or above it, by a level that is run.
fn varying<'s>(study: &'s Study, key: &str) -> Option<&'s Factor> {
    let is_run = |factor: usize, level: usize| study.configurations.iter().any(|c| c.levels[factor] == level);
    let varies = |(at, factor): &(usize, &Factor)| {
        let levels = factor.levels.iter().enumerate().filter(|(level, _)| is_run(*at, *level));
        let mut settings = levels.flat_map(|(_, level)| &level.settings);
        settings.any(|setting| holds(&setting.key, key) || holds(key, &setting.key))
    };
    study.factors.iter().enumerate().find(varies).map(|(_, factor)| factor)
}

/// Whether `key` equals `table` or is below it.
fn holds(table: &str, key: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Refuses the metric at this index of the study.
fn no_metric(study: &Study, at: usize, (key, value): (&str, &str), allowed: String) -> CommandFailure {
    of_study(&Refusals(vec![Refusal {
        place: study.name.clone(),
        key: format!("metric[{at}].{key}"),
        value: format!("{value:?}"),
        allowed,
        remedy: "compare something that such a run measures, or name the levels that have it (`only`)"
            .to_owned(),
    }]))
}

/// Replaces a metric that names no load by one for each load that measures it, if the plan has several loads.
fn of_each_load(study: Study, loads: &[CheckedLoad]) -> Result<Study, CommandFailure> {
    if loads.len() == 1 {
        return Ok(study);
    }
    let measuring = |metric: &MetricPlan| -> Vec<String> {
        let of = loads.iter().filter(|load| !of_all(metric, loads) && unmeasured(metric, load).is_none());
        of.map(|load| load.checked.plan.load.clone()).collect()
    };
    let each = study.with_loads(measuring);
    if each.metrics.len() > MOST_METRICS {
        let found = each.metrics.len().to_string();
        let allowed = format!("at most {MOST_METRICS} metrics, with one of each load where none is named");
        return Err(no_metric(&each, 0, ("load", &found), allowed));
    }
    Ok(each)
}

/// Whether several loads have a metric together: one of the host, or the total of copies of one load, or times of
/// their operations.
fn of_all(metric: &MetricPlan, loads: &[CheckedLoad]) -> bool {
    let member = |load: &CheckedLoad| load.checked.plan.tile.as_ref().map(|tile| tile.member.clone());
    let are_copies = loads.iter().all(|load| member(load).is_some() && member(load) == member(&loads[0]));
    let adds_up = metric.metric.adds_up() || metric.metric.is_of_operation();
    metric.metric.is_of_all_loads() || (metric.load.is_none() && adds_up && are_copies)
}

/// Reason why runs with this load lack the metric: the key at fault, its value and the allowed values.
fn unmeasured(metric: &MetricPlan, load: &CheckedLoad) -> Option<(&'static str, String, String)> {
    let (workload, plan) = (&load.workload, &load.checked.plan);
    let ops: Vec<&str> = workload.ops().iter().map(|op| op.name).collect();
    if let Some(operation) = metric.operation.as_deref().filter(|op| !ops.contains(op)) {
        return Some(("operation", operation.to_owned(), format!("one of {}", ops.join(", "))));
    }
    if let Metric::Measure(measure) = metric.metric
        && !workload.measures().iter().any(|own| own.id == measure.id)
    {
        let allowed = format!("a metric that workload {} measures", workload.name());
        return Some(("of", measure.id.to_owned(), allowed));
    }
    if let Metric::Statistic(statistic) = metric.metric
        && !workload.statistics().iter().any(|own| own.id == statistic.id)
    {
        let allowed = format!("a metric that workload {} measures on this target", workload.name());
        return Some(("of", statistic.id.to_owned(), allowed));
    }
    if metric.metric == Metric::UsersPerApplicationCore && plan.unit != LoadUnit::Users {
        let allowed = "users per core with load.unit = \"users\" only".to_owned();
        return Some(("of", metric.metric.name().to_owned(), allowed));
    }
    None
}

/// Refuses metrics that a run of this plan, which is that of a configuration, does not have.
fn measurable(study: &Study, configuration: usize, loads: &[CheckedLoad]) -> Result<(), CommandFailure> {
    let names: Vec<&str> = loads.iter().map(|load| load.checked.plan.load.as_str()).collect();
    let configuration = &study.configurations[configuration];
    for (at, metric) in study.metrics.iter().enumerate().filter(|(_, metric)| metric.is_of(configuration)) {
        let refuse =
            |(key, value, allowed): (&str, String, String)| Err(no_metric(study, at, (key, &value), allowed));
        let searches = matches!(loads[0].checked.plan.of_all(), Strategy::Search(_));
        if metric.metric == Metric::Capacity && !searches {
            let allowed = "capacity with load.strategy = \"search\" only".to_owned();
            return refuse(("of", "capacity".to_owned(), allowed));
        }
        if metric.window != ChosenWindow::Deciding && searches {
            let allowed = "left out with load.strategy = \"search\", whose windows are trials".to_owned();
            return refuse(("window", metric.window.name().to_owned(), allowed));
        }
        let load = match &metric.load {
            Some(name) => {
                let found = loads.iter().find(|load| loads.len() > 1 && load.checked.plan.load == *name);
                let allowed = match loads {
                    [_] => "left out for a plan of one load".to_owned(),
                    _ if metric.metric.is_of_all_loads() => {
                        "left out: all loads have one together".to_owned()
                    }
                    _ => format!("one of {}", names.join(", ")),
                };
                match found.filter(|_| !metric.metric.is_of_all_loads()) {
                    Some(load) => load,
                    None => return refuse(("load", name.clone(), allowed)),
                }
            }
            None if loads.len() > 1 && !of_all(metric, loads) => {
                let each = loads.iter().filter_map(|load| {
                    let (_, _, allowed) = unmeasured(metric, load)?;
                    Some(format!("for load {}, {allowed}", load.checked.plan.load))
                });
                let (key, value) = match &metric.operation {
                    Some(operation) => ("operation", operation.clone()),
                    None => ("of", metric.metric.name().to_owned()),
                };
                return refuse((key, value, each.collect::<Vec<_>>().join("; ")));
            }
            None => &loads[0],
        };
        if let Some(wrong) = unmeasured(metric, load).filter(|_| !metric.metric.is_of_all_loads()) {
            return refuse(wrong);
        }
    }
    Ok(())
}

/// Refuses metrics with a divisor that is not a number above 0 in any configuration. If some configurations
/// have it, the metric is accepted, as a level may set a number to zero.
fn divisible(prepared: &PreparedStudy) -> Result<(), CommandFailure> {
    for (at, metric) in prepared.study.metrics.iter().enumerate() {
        let Some(Divisor::Planned(key)) = &metric.per else { continue };
        let numbers = prepared.numbers(metric.load.as_deref(), key);
        if numbers.iter().any(|(_, number)| number.is_some_and(|number| number > 0.0)) {
            continue;
        }
        let is_number = numbers.iter().any(|(_, number)| number.is_some());
        let here = if is_number { "it is 0 in all of them" } else { "it is a number in none of them" };
        return Err(of_study(&Refusals(vec![Refusal {
            place: prepared.study.name.clone(),
            key: format!("metric[{at}].per"),
            value: format!("{key:?}"),
            allowed: format!("a key of the configurations' plans that is a number above 0 ({here})"),
            remedy: "name another key (`barograph list keys` shows all of them), or give this one a number in [settings]"
                .to_owned(),
        }])));
    }
    Ok(())
}

/// Refuses configurations with different drivers if the plan leaves the driver open: the effect of the
/// factors could not be separated from that of the driver.
fn alike(prepared: &PreparedStudy) -> Result<(), CommandFailure> {
    type Decided = fn(&Plan) -> String;
    let decided: [(&str, Decided); 2] = [
        ("driver.connections", |plan| format!("{:?}", plan.driver.connections.name())),
        ("driver.workers", |plan| plan.driver.workers.to_string()),
    ];
    let study = &prepared.study;
    let names: Vec<&str> =
        study.configurations.iter().map(|configuration| configuration.name.as_str()).collect();
    let mut refusals = Vec::new();
    for (key, of) in decided {
        let of_all = |loads: &Vec<CheckedLoad>| {
            let mut each: Vec<String> = loads.iter().map(|load| of(&load.checked.plan)).collect();
            // Configurations may differ in the number of copies.
            each.dedup();
            each.join(" and ")
        };
        let values: Vec<String> = prepared.checked.iter().map(of_all).collect();
        let Some(value) = unlike(&names, &values).filter(|_| varying(study, key).is_none()) else { continue };
        refusals.push(Refusal {
            place: study.name.clone(),
            key: key.to_owned(),
            value,
            allowed: "the same in all configurations, since no factor varies it".to_owned(),
            remedy:
                "it was decided for each by what its users need here; give it in [settings] for all of them"
                    .to_owned(),
        });
    }
    if refusals.is_empty() { Ok(()) } else { Err(of_study(&Refusals(refusals))) }
}

/// Values with their configurations; `None` if all are equal.
fn unlike(names: &[&str], values: &[String]) -> Option<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (&name, value) in names.iter().zip(values) {
        match all.iter_mut().find(|(known, _)| known == value) {
            Some((_, with_it)) => with_it.push(name),
            None => all.push((value, vec![name])),
        }
    }
    let told: Vec<String> =
        all.iter().map(|(value, with_it)| format!("{value} for {}", listed(with_it))).collect();
    (told.len() > 1).then(|| told.join("; "))
}

impl PreparedStudy {
    /// A key's value in the plan of each configuration, by its name; `None` if it is not a number there.
    pub(super) fn numbers(&self, load: Option<&str>, key: &str) -> Vec<(&str, Option<f64>)> {
        let names = self.study.configurations.iter().map(|configuration| configuration.name.as_str());
        names.enumerate().map(|(at, name)| (name, self.number(at, load, key))).collect()
    }

    /// The number that a key is in the plan of a configuration, or of one of its loads.
    pub(super) fn number(&self, at: usize, load: Option<&str>, key: &str) -> Option<f64> {
        let loads = &self.checked[at];
        match load {
            Some(name) => loads.iter().find(|of| of.checked.plan.load == name)?.checked.plan.number(key),
            None => loads[0].checked.plan.number_of_run(key),
        }
    }

    /// Checks the plan of a configuration with further overrides, at this moment.
    pub(super) fn check(&self, at: usize, sets: &[String]) -> Result<Vec<CheckedLoad>, CommandFailure> {
        let configuration = &self.study.configurations[at];
        let all: Vec<String> = self.sets.iter().chain(sets).cloned().collect();
        let plan = self
            .study
            .plan_of(WORKLOADS.catalogue(&WORKLOADS.readers()), configuration, &self.text, &all)
            .map_err(HarnessError::Refused);
        let checked = plan.map_err(CommandFailure::from).and_then(|plan| check::of_plan(&plan));
        checked.map_err(|failed| CommandFailure {
            why: failed.why.context(format!("check configuration `{}` of the study", configuration.name)),
            ..failed
        })
    }

    /// Unit of a metric's figures.
    pub(super) fn unit(&self, metric: &MetricPlan) -> String {
        metric.unit().replace(Metric::Capacity.unit(), self.counted())
    }

    /// Unit of capacities.
    pub(super) fn counted(&self) -> &'static str {
        counted(self.checked.iter().map(|loads| loads[0].checked.plan.unit_of_all()))
    }

    /// Resolved plans, by the configuration's name.
    pub(super) fn plans(&self) -> Vec<(String, String)> {
        let names = self.study.configurations.iter().map(|configuration| configuration.name.clone());
        let text = |loads: &Vec<CheckedLoad>| match &loads[..] {
            [only] => only.checked.text(),
            _ => loads[0].checked.plan.of_run.clone(),
        };
        names.zip(self.checked.iter().map(text)).collect()
    }

    /// Whether a plan asks for absolute paths in its record.
    pub(super) fn has_absolute_paths(&self) -> bool {
        self.checked.iter().flatten().any(|load| load.checked.plan.has_absolute_paths)
    }

    /// What this machine lacks, each with the configuration.
    pub(super) fn missing(&self) -> Result<Vec<(String, MissingRequirement)>, CommandFailure> {
        let mut all: Vec<(String, MissingRequirement)> = Vec::new();
        for (configuration, loads) in self.study.configurations.iter().zip(&self.checked) {
            for missing in check::missing(loads)? {
                all.push((configuration.name.clone(), missing));
            }
        }
        Ok(all)
    }

    /// Expected seconds of load of a run, by index; the control's last.
    pub(super) fn expected(&self) -> Vec<f64> {
        let seconds = |at: usize| barograph_spec::estimate(&self.checked[at][0].checked.plan).as_secs_f64();
        let all = (0..self.checked.len()).map(seconds);
        all.chain(self.study.control.then(|| seconds(self.study.controlled()))).collect()
    }
}

/// Unit of capacities: that of the plans, if all have the same.
pub(super) fn counted(mut units: impl Iterator<Item = LoadUnit>) -> &'static str {
    match units.next() {
        Some(first) if units.all(|unit| unit == first) => first.name(),
        _ => Metric::Capacity.unit(),
    }
}

/// Override for the folder of a study's records.
pub(super) fn into(runs: &Path) -> String {
    format!("runs={}", toml::Value::String(runs.display().to_string()))
}

/// Whether a failure ends the study, and not only this run.
pub(super) fn ends_the_study(code: ExitCode) -> bool {
    matches!(code, ExitCode::Refused | ExitCode::CannotWrite | ExitCode::Bug)
}

#[cfg(test)]
mod tests {
    use super::{holds, unlike};

    #[test]
    fn what_differs_is_told_with_who_has_it() {
        let names = ["a", "b", "c"];
        let of = |values: [&str; 3]| unlike(&names, &values.map(str::to_owned));
        assert_eq!(of(["1", "1", "1"]), None);
        assert_eq!(of(["1", "2", "1"]).as_deref(), Some("1 for a and c; 2 for b"));
    }

    #[test]
    fn a_table_holds_the_keys_below_it_and_no_others() {
        for (table, key, expected) in [
            ("load", "load.users", true),
            ("load.users", "load.users", true),
            ("load.path", "load.path[0].users", true),
            ("load.users", "load", false),
            ("load", "loads.users", false),
            ("load.use", "load.users", false),
        ] {
            assert_eq!(holds(table, key), expected, "{key} in {table}");
        }
    }
}
