//! Statistics of runs: figures of one block make a pair, pairs make a finding, and all findings are judged
//! together.
//!
//! Used by both studies and `barograph compare`.

use std::collections::BTreeMap;

use barograph_model::Metric;
use barograph_record::{FindingRecord, MetricRecord, RowRecord, RunEnded};
use barograph_spec::study::{MetricPlan, Study};
use barograph_stats::compare::{
    Comparison, Direction, Pair, SIGNIFICANCE, compare, judge, noise_floor, weaken,
};
use barograph_stats::rank::{median, signed_rank};

use crate::figures::{of, pairs};
use crate::{CONTROL, bounds, places};

/// Configurations with their baselines.
pub(crate) struct Sides {
    /// Names; the control, if any, is the last.
    names: Vec<String>,
    /// By index: the index of the baseline, which is its own for a baseline.
    baselines: Vec<usize>,
}

impl Sides {
    pub(crate) fn of(study: &Study) -> Self {
        let baseline_of = |place: usize| match study.configurations.get(place) {
            Some(configuration) => study.baseline_of(configuration).unwrap_or(place),
            None => study.controlled(),
        };
        let names = places(study);
        Sides { baselines: (0..names.len()).map(baseline_of).collect(), names }
    }

    /// A baseline and a candidate.
    pub(crate) fn two(baseline: &str, candidate: &str) -> Self {
        Sides::of_first(&[baseline, candidate])
    }

    /// Configurations of which the first is the baseline of the others.
    pub(crate) fn of_first(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Sides { baselines: vec![0; names.len()], names }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Name of the baseline of the configuration at this index.
    pub(crate) fn baseline_of(&self, place: usize) -> &str {
        &self.names[self.baselines[place]]
    }

    pub(crate) fn is_control(&self, place: usize) -> bool {
        self.names[place] == CONTROL
    }

    /// Index of every configuration with a baseline, including the control.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|place| self.baselines[*place] != *place)
    }

    /// Every configuration compared with its baseline.
    pub(crate) fn compared(&self, runs: &[RunEnded], metric: &MetricStatistics) -> Vec<(usize, Comparison)> {
        let compared = |place: usize| {
            let pairs = pairs(runs, self.baseline_of(place), &self.names[place], &metric.label);
            (place, compare(&pairs, metric.direction(), metric.margin))
        };
        self.candidates().filter(|place| metric.is_of(*place)).map(compared).collect()
    }

    fn floor(&self, runs: &[RunEnded], metric: &MetricStatistics) -> Option<f64> {
        let control = (0..self.names.len()).find(|place| self.is_control(*place) && metric.is_of(*place))?;
        let floor = noise_floor(&pairs(runs, self.baseline_of(control), CONTROL, &metric.label));
        floor.is_finite().then_some(floor)
    }
}

/// A metric, as far as needed for statistics.
pub(crate) struct MetricStatistics {
    /// Key of its figures.
    pub(crate) label: String,
    /// Its name for people.
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) more_is_better: bool,
    /// Difference without practical interest, relative.
    pub(crate) margin: f64,
    /// Whether its figures may be lower bounds.
    pub(crate) is_capacity: bool,
    /// Indices of configurations without it.
    pub(crate) without: Vec<usize>,
}

impl MetricStatistics {
    /// All metrics of a study.
    pub(crate) fn all(study: &Study) -> Vec<Self> {
        let controlled = study.configurations.get(study.controlled());
        let configurations = || study.configurations.iter().chain(controlled);
        let without = |plan: &MetricPlan| {
            let all = configurations().enumerate().filter(|(_, c)| !plan.is_of(c));
            all.map(|(place, _)| place).collect()
        };
        let of =
            |plan: &MetricPlan| MetricStatistics { without: without(plan), ..MetricStatistics::of(plan) };
        study.metrics.iter().map(of).collect()
    }

    fn of(plan: &MetricPlan) -> Self {
        MetricStatistics {
            without: Vec::new(),
            label: plan.label.clone(),
            name: plan.called(),
            unit: plan.unit(),
            more_is_better: plan.more_is_better,
            margin: plan.margin,
            is_capacity: plan.metric == Metric::Capacity,
        }
    }

    /// Whether the configuration at this index has the metric.
    fn is_of(&self, place: usize) -> bool {
        !self.without.contains(&place)
    }

    fn direction(&self) -> Direction {
        if self.more_is_better { Direction::Higher } else { Direction::Lower }
    }
}

/// All metrics, judged as one family; the control is a family of its own, since it claims that nothing
/// differs.
pub(crate) fn metrics(sides: &Sides, metrics: &[MetricStatistics], runs: &[RunEnded]) -> Vec<MetricRecord> {
    let floors: Vec<Option<f64>> = metrics.iter().map(|metric| sides.floor(runs, metric)).collect();
    let judged = judged(sides, (metrics, &floors), runs);
    let row = |(at, metric): (usize, &MetricStatistics), (place, name): (usize, &String)| {
        let comparison = judged.iter().find(|(key, _)| *key == (at, place)).map(|(_, c)| c);
        let figures: Vec<f64> = of(runs, name, &metric.label).into_values().collect();
        let row =
            RowRecord { control: sides.is_control(place), ..row(name, sides.baseline_of(place), &figures) };
        let Some(comparison) = comparison else { return row };
        let ratios = ratios(&pairs(runs, sides.baseline_of(place), name, &metric.label));
        RowRecord { ratios, ..row.with(comparison) }
    };
    let all = metrics.iter().enumerate();
    all.map(|(at, metric)| MetricRecord {
        label: metric.label.clone(),
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        more_is_better: metric.more_is_better,
        noise_floor: floors[at],
        margin: metric.margin,
        sentences: Vec::new(),
        rows: {
            let named = sides.names.iter().enumerate().filter(|(place, _)| metric.is_of(*place));
            named.map(|side| row((at, metric), side)).collect()
        },
    })
    .collect()
}

/// The findings, by the indices of metric and configuration.
fn judged(
    sides: &Sides,
    (metrics, floors): (&[MetricStatistics], &[Option<f64>]),
    runs: &[RunEnded],
) -> Vec<((usize, usize), Comparison)> {
    let (mut family, mut control) = (Vec::new(), Vec::new());
    for (at, metric) in metrics.iter().enumerate() {
        for (place, mut comparison) in sides.compared(runs, metric) {
            let is_control = sides.is_control(place);
            // The floor itself comes from the control.
            comparison.floor = if is_control { 0.0 } else { floors[at].unwrap_or(0.0) };
            let of = if is_control { &mut control } else { &mut family };
            of.push(((at, place), (metric.direction(), comparison)));
        }
    }
    let mut judged = Vec::new();
    for family in [family, control] {
        let (keys, mut compared): (Vec<_>, Vec<_>) = family.into_iter().unzip();
        judge(&mut compared);
        judged.extend(keys.into_iter().zip(compared.into_iter().map(|(_, comparison)| comparison)));
    }
    for ((at, place), comparison) in &mut judged {
        let is_bounded = |name: &str| metrics[*at].is_capacity && bounds::bounded(runs, name);
        weaken(comparison, (is_bounded(sides.baseline_of(*place)), is_bounded(&sides.names[*place])));
    }
    judged
}

fn ratios(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().filter_map(Pair::ratio).filter(|ratio| ratio.is_finite()).collect()
}

/// A row without a comparison.
fn row(name: &str, baseline: &str, figures: &[f64]) -> RowRecord {
    RowRecord {
        configuration: name.to_owned(),
        baseline: baseline.to_owned(),
        runs: figures.len() as u32,
        median: median(figures),
        lowest: figures.iter().copied().fold(f64::NAN, f64::min),
        highest: figures.iter().copied().fold(f64::NAN, f64::max),
        pairs: figures.len() as u32,
        ratio: 1.0,
        median_ratio: 1.0,
        low: 1.0,
        high: 1.0,
        low_90: 1.0,
        high_90: 1.0,
        p: f64::NAN,
        p_holm: f64::NAN,
        finding: FindingRecord::Baseline,
        ..RowRecord::default()
    }
}

/// Whether the candidate broke rules that its baseline kept: in any run, if the baseline broke none, or in
/// more blocks than chance explains.
pub(crate) fn breaks_rules(runs: &[RunEnded], baseline: &str, candidate: &str) -> bool {
    let broken = |name: &str| -> BTreeMap<u32, bool> {
        let valid = runs.iter().filter(|run| run.valid && run.started.configuration == name);
        valid.map(|run| (run.started.block, !run.passed)).collect()
    };
    let (of_baseline, of_candidate) = (broken(baseline), broken(candidate));
    let kept_all = !of_baseline.is_empty() && of_baseline.values().all(|is_broken| !is_broken);
    if kept_all {
        return of_candidate.values().any(|is_broken| *is_broken);
    }
    let as_number = |is_broken: bool| f64::from(u8::from(is_broken));
    let differences: Vec<f64> = of_candidate
        .iter()
        .filter_map(|(block, is_broken)| Some(as_number(*is_broken) - as_number(*of_baseline.get(block)?)))
        .collect();
    let ranks = signed_rank(&differences);
    ranks.p < SIGNIFICANCE && ranks.positive > ranks.negative
}
