//! A study as people write it: a question, factors with levels, how often, and what is compared.
//!
//! A level is a set of keys of a plan, so whatever a plan can say can be varied. Configurations are the combinations of
//! levels, all of them or those that are listed.

mod read;

use std::path::{Path, PathBuf};

use barograph_model::Metric;
use barograph_model::Refused;

pub use read::{read, read_with};

use crate::{Catalogue, Plan, Setting};

/// Configurations of a study at the most; more are nothing that one machine ends with.
pub const MOST_CONFIGURATIONS: usize = 100;

/// Metrics of one study at the most; Holm's correction makes each of them dearer.
pub const MOST_METRICS: usize = 20;

/// A checked study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What it is called: the path it was read from.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// The plan that all configurations begin with.
    pub plan: PathBuf,
    /// Keys of the plan that are the same in all configurations.
    pub settings: Vec<Setting>,
    /// What varies.
    pub factors: Vec<Factor>,
    /// The combinations of levels that are run. One, of nothing, where there is no factor.
    pub configurations: Vec<Configuration>,
    /// Per factor the level of the baseline; `None` where each configuration is held against the one of its own level.
    pub baseline: Vec<Option<usize>>,
    /// The first baseline is run once more under another name.
    pub control: bool,
    /// Blocks at the begin that are run and recorded, and not judged: the machine is in use from then on.
    pub warm_up_blocks: u32,
    /// How often.
    pub repeats: Repeats,
    /// How many more times a run that cannot be used is tried, within its block.
    pub again: u32,
    /// Start of the order of runs, and of every resampling.
    pub seed: u64,
    /// Difference that is of no practical interest, relative. It alone decides what is equivalent.
    pub margin: f64,
    /// What is compared; the first decides about the width.
    pub metrics: Vec<MetricPlan>,
    /// Questions of the kind "how many at limit L".
    pub crossings: Vec<Crossing>,
}

/// Something that varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub levels: Vec<Level>,
}

/// One of the things that a factor may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// How much it is, where it is a number.
    pub value: Option<f64>,
    /// The keys of the plan that make it.
    pub settings: Vec<Setting>,
}

impl Factor {
    /// Every level has a number.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.levels.len() > 1 && self.levels.iter().all(|level| level.value.is_some())
    }
}

/// A combination of levels: one per factor, by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// `nodes 2, platform vm`.
    pub name: String,
    /// Per factor the place of the level.
    pub levels: Vec<usize>,
}

/// How often a study repeats its configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// Blocks at the least.
    pub blocks: u32,
    /// Further ones until the 95 % interval of every ratio of the first metric is not wider than this, relative.
    pub width: Option<f64>,
    /// Blocks at the most, when a width is sought.
    pub most: u32,
}

/// A metric that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricPlan {
    /// What it is called: its name, with the operation where it has one, behind that of its load.
    pub label: String,
    /// The load, where it is of one of several.
    pub load: Option<String>,
    /// Which.
    pub metric: Metric,
    /// The operation, for metrics of one.
    pub operation: Option<String>,
    /// What its figure is divided by.
    pub per: Option<Divisor>,
    /// Is more of it better?
    pub more_is_better: bool,
    /// Difference without practical interest, relative; that of the study unless given.
    pub margin: f64,
    /// Numeric factors are looked at as sizes of a system whose speed this is.
    pub scaling: bool,
}

impl MetricPlan {
    /// What a sentence calls it: `p99 response time of Search`.
    #[must_use]
    pub fn called(&self) -> String {
        let called = named(self.metric.words(), self.operation.as_deref(), self.per.as_ref());
        self.load.as_ref().map_or(called.clone(), |load| format!("{called} of load {load}"))
    }

    /// The operation that it is of, under the name that it has in a run.
    #[must_use]
    pub fn operation_of_run(&self) -> Option<String> {
        self.operation.as_deref().map(|operation| of_load(self.load.as_deref(), operation))
    }

    /// The same of a load.
    #[must_use]
    pub fn of(&self, load: &str) -> Self {
        let label = of_load(Some(load), &self.label);
        MetricPlan { label, load: Some(load.to_owned()), ..self.clone() }
    }

    /// The unit of its figures, as in `operations/s per core`. A capacity's part of it is that of [`Metric::unit`].
    #[must_use]
    pub fn unit(&self) -> String {
        match &self.per {
            Some(per) => format!("{} per {}", self.metric.unit(), per.one()),
            None => self.metric.unit().to_owned(),
        }
    }
}

/// What is called `name` in a load, in a run of several: `LOAD/NAME`.
#[must_use]
pub fn of_load(load: Option<&str>, name: &str) -> String {
    load.map_or_else(|| name.to_owned(), |load| format!("{load}/{name}"))
}

/// A metric by its name, its operation, and what it is divided by.
fn named(name: &str, operation: Option<&str>, per: Option<&Divisor>) -> String {
    let of = operation.map_or_else(String::new, |operation| format!(" of {operation}"));
    let per = per.map_or_else(String::new, |per| format!(" per {}", per.name()));
    format!("{name}{of}{per}")
}

/// What the figure of a run is divided by, of the same run.
#[derive(Clone, Debug, PartialEq)]
pub enum Divisor {
    /// Another figure: one of [`Metric::DIVISORS`].
    Measured(Metric),
    /// A number of the plan as resolved, by its key.
    Planned(String),
}

impl Divisor {
    /// What it is called in a study's file and in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Divisor::Measured(metric) => metric.name(),
            Divisor::Planned(key) => key,
        }
    }

    /// One of what it counts, as a unit.
    fn one(&self) -> &str {
        match self {
            Divisor::Measured(Metric::ApplicationCores | Metric::HostCpu | Metric::DriverCpu) => "core",
            Divisor::Measured(metric) => metric.unit(),
            Divisor::Planned(key) => key,
        }
    }
}

/// "How many at limit L": at which number of a factor a metric reaches a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Place of the factor.
    pub factor: usize,
    /// Place of the metric.
    pub metric: usize,
    /// The limit, in the metric's unit.
    pub limit: f64,
}

impl Study {
    /// The place of the configuration that `configuration` is held against.
    #[must_use]
    pub fn baseline_of(&self, configuration: &Configuration) -> Option<usize> {
        let wanted: Vec<usize> =
            self.baseline.iter().zip(&configuration.levels).map(|(base, own)| base.unwrap_or(*own)).collect();
        self.configurations.iter().position(|other| other.levels == wanted)
    }

    /// The configuration that is run twice for the control: the first that is a baseline.
    #[must_use]
    pub fn controlled(&self) -> usize {
        let is_baseline = |(at, c): (usize, &Configuration)| self.baseline_of(c) == Some(at);
        self.configurations.iter().enumerate().position(is_baseline).unwrap_or(0)
    }

    /// The operations that metrics are of, each once, with the load.
    #[must_use]
    pub fn operations(&self) -> Vec<(Option<&str>, &str)> {
        let mut all = Vec::new();
        for metric in &self.metrics {
            let Some(operation) = metric.operation.as_deref() else { continue };
            let operation = (metric.load.as_deref(), operation);
            if !all.contains(&operation) {
                all.push(operation);
            }
        }
        all
    }

    /// The same with a metric of each load in the place of one that names none, and with crossings of each. `loads` says by
    /// which loads a metric is measured; one that is measured by none of them, or by all together, stays.
    #[must_use]
    pub fn with_loads(mut self, loads: impl Fn(&MetricPlan) -> Vec<String>) -> Self {
        let mut places = Vec::new();
        let mut metrics = Vec::new();
        for metric in &self.metrics {
            let begin = metrics.len();
            let named = if metric.load.is_some() { Vec::new() } else { loads(metric) };
            metrics.extend(named.iter().map(|load| metric.of(load)));
            if named.is_empty() {
                metrics.push(metric.clone());
            }
            places.push(begin..metrics.len());
        }
        let of_each = |crossing: &Crossing| {
            let crossing = crossing.clone();
            places[crossing.metric].clone().map(move |metric| Crossing { metric, ..crossing.clone() })
        };
        self.crossings = self.crossings.iter().flat_map(of_each).collect();
        self.metrics = metrics;
        self
    }

    /// The keys that make a configuration, those of all first.
    #[must_use]
    pub fn settings_of(&self, configuration: &Configuration) -> Vec<Setting> {
        let of_levels = self.factors.iter().zip(&configuration.levels);
        let of_levels = of_levels.flat_map(|(factor, level)| factor.levels[*level].settings.iter());
        self.settings.iter().chain(of_levels).cloned().collect()
    }

    /// The plan of a configuration. `text` is that of the study's plan; `sets` are overrides of the form `key=value`, which
    /// may not touch what a factor varies.
    pub fn plan_of(
        &self,
        catalogue: Catalogue<'_>,
        configuration: &Configuration,
        text: &str,
        sets: &[String],
    ) -> Result<Plan, Refused> {
        let name = self.plan.display().to_string();
        crate::read_with(catalogue, &name, text, &self.settings_of(configuration), sets)
    }

    /// Leaves only configurations whose level of `factor` is one of `levels`. Baselines that go leave the first level.
    #[must_use]
    pub fn only(mut self, factor: usize, levels: &[usize]) -> Self {
        self.configurations.retain(|c| levels.contains(&c.levels[factor]));
        if self.baseline[factor].is_some_and(|level| !levels.contains(&level)) {
            self.baseline[factor] = levels.first().copied();
        }
        self
    }

    /// Everything that decides what is run and compared, as text; two studies are the same when it is.
    #[must_use]
    pub fn resolved(&self) -> String {
        read::resolved(self)
    }
}

/// Where a file is that a study names: beside the study.
fn beside(name: &str, file: &str) -> PathBuf {
    Path::new(name).parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
}
