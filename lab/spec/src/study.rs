//! A study as written: a question, factors with levels, repeats, and the metrics to compare.
//!
//! A level is a set of keys of a plan, so every setting of a plan can be varied. Configurations are the
//! combinations of levels, all of them or a listed subset.

mod read;

use std::path::{Path, PathBuf};

use barograph_model::{ChosenWindow, Metric, Refusals};

pub use read::{read, read_with};

use crate::{Catalogue, Plan, Setting};

/// Most configurations of a study; one machine does not finish more.
pub const MOST_CONFIGURATIONS: usize = 100;

/// Most metrics of one study; Holm's correction makes each of them costlier.
pub const MOST_METRICS: usize = 20;

/// A checked study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name: the path it was read from.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// The plan common to all configurations.
    pub plan: PathBuf,
    /// Keys of the plan that are the same in all configurations.
    pub settings: Vec<Setting>,
    /// The factors that vary.
    pub factors: Vec<Factor>,
    /// The combinations of levels to run. A single empty one without factors.
    pub configurations: Vec<Configuration>,
    /// Per factor the level of the baseline; `None` if each configuration is compared with the one of its own
    /// level.
    pub baseline: Vec<Option<usize>>,
    /// Whether the first baseline is run once more under another name.
    pub control: bool,
    /// Blocks at the beginning that are run and recorded, but not judged: the machine is in use from then on.
    pub warm_up_blocks: u32,
    /// Number of repeats.
    pub repeats: Repeats,
    /// Further tries of an unusable run, within its block.
    pub again: u32,
    /// Seed of the order of runs, and of every resampling.
    pub seed: u64,
    /// Difference without practical interest, relative. It alone decides equivalence.
    pub margin: f64,
    /// The metrics; the first decides about the width.
    pub metrics: Vec<MetricPlan>,
    /// Questions of the form "at which number is limit L reached".
    pub crossings: Vec<Crossing>,
}

/// A factor that varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels.
    pub levels: Vec<Level>,
}

/// A level of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Its number, if it is numeric.
    pub value: Option<f64>,
    /// Its keys of the plan.
    pub settings: Vec<Setting>,
    /// Whether it is left out unless it is asked for by name.
    pub on_request: bool,
}

impl Factor {
    /// Whether every level has a number.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.levels.len() > 1 && self.levels.iter().all(|level| level.value.is_some())
    }
}

/// A combination of levels: one per factor, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// `nodes 2, platform vm`.
    pub name: String,
    /// Per factor the index of the level.
    pub levels: Vec<usize>,
}

/// Number of repeats of the configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// Least number of blocks.
    pub blocks: u32,
    /// Further blocks until the 95 % interval of every ratio of the first metric is at most this wide,
    /// relative.
    pub width: Option<f64>,
    /// Greatest number of blocks, if a width is given.
    pub most: u32,
}

/// A compared metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricPlan {
    /// Its label: its name, with the operation if it has one, after the name of its load.
    pub label: String,
    /// The load, if it belongs to one of several.
    pub load: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// The operation, for metrics of one.
    pub operation: Option<String>,
    /// The window of a run that it is of.
    pub window: ChosenWindow,
    /// The divisor of its figure.
    pub per: Option<Divisor>,
    /// Whether higher is better.
    pub more_is_better: bool,
    /// Difference without practical interest, relative; by default that of the study.
    pub margin: f64,
    /// Whether numeric factors are taken as sizes of a system with this speed.
    pub scaling: bool,
    /// Whether the pairs beyond the margin and within it are counted in a sentence.
    pub by_pair: bool,
    /// Indices of factors with those of their levels that have the metric; all levels of the others have it.
    pub only: Vec<(usize, Vec<usize>)>,
}

impl MetricPlan {
    /// Whether a configuration has the metric.
    #[must_use]
    pub fn is_of(&self, configuration: &Configuration) -> bool {
        self.only.iter().all(|(factor, levels)| levels.contains(&configuration.levels[*factor]))
    }

    /// Its name in a sentence: `p99 response time of Search`.
    #[must_use]
    pub fn called(&self) -> String {
        let operation = self.operation.as_deref();
        let called = named(self.metric.words(), (operation, self.window), self.per.as_ref());
        self.load.as_ref().map_or(called.clone(), |load| format!("{called} of load {load}"))
    }

    /// Its operation, under the name in a run.
    #[must_use]
    pub fn operation_of_run(&self) -> Option<String> {
        self.operation.as_deref().map(|operation| of_load(self.load.as_deref(), operation))
    }

    /// The same metric of a load.
    #[must_use]
    pub fn of(&self, load: &str) -> Self {
        let label = of_load(Some(load), &self.label);
        MetricPlan { label, load: Some(load.to_owned()), ..self.clone() }
    }

    /// The unit of its figures, such as `operations/s per core`. The part from a capacity is that of
    /// [`Metric::unit`].
    #[must_use]
    pub fn unit(&self) -> String {
        match &self.per {
            Some(per) => format!("{} per {}", self.metric.unit(), per.one()),
            None => self.metric.unit().to_owned(),
        }
    }
}

/// Name of `name` of a load in a run of several: `LOAD/NAME`.
#[must_use]
pub fn of_load(load: Option<&str>, name: &str) -> String {
    load.map_or_else(|| name.to_owned(), |load| format!("{load}/{name}"))
}

/// The label of a metric from its name, its operation and window, and its divisor.
fn named(name: &str, (operation, window): (Option<&str>, ChosenWindow), per: Option<&Divisor>) -> String {
    let of = operation.map_or_else(String::new, |operation| format!(" of {operation}"));
    let per = per.map_or_else(String::new, |per| format!(" per {}", per.name()));
    let within = match window {
        ChosenWindow::Deciding => String::new(),
        other => format!(" in the {} window", other.name()),
    };
    format!("{name}{of}{within}{per}")
}

/// Divisor of a figure, from the same run.
#[derive(Clone, Debug, PartialEq)]
pub enum Divisor {
    /// Another figure: one of [`Metric::DIVISORS`].
    Measured(Metric),
    /// A number of the resolved plan, by its key.
    Planned(String),
}

impl Divisor {
    /// Its name in a study's file and in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Divisor::Measured(metric) => metric.name(),
            Divisor::Planned(key) => key,
        }
    }

    /// The singular of its unit.
    fn one(&self) -> &str {
        match self {
            Divisor::Measured(Metric::ApplicationCores | Metric::HostCpu | Metric::DriverCpu) => "core",
            Divisor::Measured(metric) => metric.unit(),
            Divisor::Planned(key) => key,
        }
    }
}

/// The number of a factor at which a metric reaches a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Index of the factor.
    pub factor: usize,
    /// Index of the metric.
    pub metric: usize,
    /// The limit, in the metric's unit.
    pub limit: f64,
}

impl Study {
    /// The index of the configuration with which `configuration` is compared.
    #[must_use]
    pub fn baseline_of(&self, configuration: &Configuration) -> Option<usize> {
        let wanted: Vec<usize> =
            self.baseline.iter().zip(&configuration.levels).map(|(base, own)| base.unwrap_or(*own)).collect();
        self.configurations.iter().position(|other| other.levels == wanted)
    }

    /// The configuration that is run twice for the control: the first baseline.
    #[must_use]
    pub fn controlled(&self) -> usize {
        let is_baseline = |(at, c): (usize, &Configuration)| self.baseline_of(c) == Some(at);
        self.configurations.iter().enumerate().position(is_baseline).unwrap_or(0)
    }

    /// The operations of the metrics, each once, with the load.
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

    /// The same with a metric of each load in place of one that names none, and with crossings of each.
    /// `loads` returns the loads that have a metric; a metric of none of them, or of all together, stays.
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

    /// The keys of a configuration, beginning with those of all.
    #[must_use]
    pub fn settings_of(&self, configuration: &Configuration) -> Vec<Setting> {
        let of_levels = self.factors.iter().zip(&configuration.levels);
        let of_levels = of_levels.flat_map(|(factor, level)| factor.levels[*level].settings.iter());
        self.settings.iter().chain(of_levels).cloned().collect()
    }

    /// The plan of a configuration. `text` is that of the study's plan; `sets` are overrides of the form
    /// `key=value`, which may not touch the keys of a factor.
    pub fn plan_of(
        &self,
        catalogue: Catalogue<'_>,
        configuration: &Configuration,
        text: &str,
        sets: &[String],
    ) -> Result<Plan, Refusals> {
        let name = self.plan.display().to_string();
        crate::read_with(catalogue, &name, text, &self.settings_of(configuration), sets)
    }

    /// Keeps only configurations whose level of `factor` is one of `levels`. If a baseline is removed, the
    /// first remaining level replaces it.
    #[must_use]
    pub fn only(mut self, factor: usize, levels: &[usize]) -> Self {
        self.configurations.retain(|c| levels.contains(&c.levels[factor]));
        if self.baseline[factor].is_some_and(|level| !levels.contains(&level)) {
            self.baseline[factor] = levels.first().copied();
        }
        self
    }

    /// Leaves out levels on request, except those of factors that were asked for by name.
    #[must_use]
    pub fn without_levels_on_request(mut self, asked: &[usize]) -> Self {
        for factor in (0..self.factors.len()).filter(|factor| !asked.contains(factor)) {
            let levels = self.factors[factor].levels.iter().enumerate();
            let usual: Vec<usize> = levels.filter(|(_, level)| !level.on_request).map(|(at, _)| at).collect();
            if usual.len() < self.factors[factor].levels.len() {
                self = self.only(factor, &usual);
            }
        }
        self
    }

    /// Leaves out metrics that none of the configurations has, with their crossings.
    #[must_use]
    pub fn without_unused_metrics(mut self) -> Self {
        let is_used = |metric: &MetricPlan| self.configurations.iter().any(|c| metric.is_of(c));
        let used: Vec<bool> = self.metrics.iter().map(is_used).collect();
        self.crossings.retain(|crossing| used[crossing.metric]);
        for crossing in &mut self.crossings {
            crossing.metric = used[..crossing.metric].iter().filter(|used| **used).count();
        }
        let mut used = used.into_iter();
        self.metrics.retain(|_| used.next() == Some(true));
        self
    }

    /// All settings that decide the runs and comparisons, as text; two studies with equal texts are the same.
    #[must_use]
    pub fn resolved(&self) -> String {
        read::resolved(self)
    }
}

/// Path of a file named in a study: beside the study.
fn beside(name: &str, file: &str) -> PathBuf {
    Path::new(name).parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
}
