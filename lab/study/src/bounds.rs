//! Capacities that are only lower bounds: the search ended at the highest level allowed, or below an invalid
//! one, so the system may hold more. Two such figures can be equal while the capacities are not.

use barograph_model::Metric;
use barograph_model::words::figure as number;
use barograph_record::{RunEnded, SearchBound};
use barograph_spec::study::{MetricPlan, Study};

/// Most runs named one by one; the rest share one sentence.
const MOST_NAMED: usize = 5;

/// Whether any capacity of this configuration is only a bound.
pub(crate) fn bounded(runs: &[RunEnded], configuration: &str) -> bool {
    let mut bounds = runs.iter().filter(|run| run.valid && run.at_least.is_some());
    bounds.any(|run| run.started.configuration == configuration)
}

/// Whether the figure of this run is only a bound.
pub(crate) fn is_bound(run: &RunEnded, metric: &MetricPlan) -> bool {
    metric.metric == Metric::Capacity && run.valid && run.at_least.is_some()
}

/// One sentence per run whose capacity is only a bound; beyond a number of them, one for the rest.
pub(crate) fn warnings(study: &Study, runs: &[RunEnded]) -> Vec<String> {
    let capacities = study.metrics.iter().filter(|metric| metric.metric == Metric::Capacity);
    // A bound is reported once for each run: for the capacity itself, if the study has it.
    let Some(metric) = capacities.min_by_key(|metric| metric.per.is_some()) else {
        return Vec::new();
    };
    let called = metric.called();
    let told = |capacity: f64| if metric.per.is_some() { number(capacity) } else { format!("{capacity:.0}") };
    let bounds = runs.iter().filter(|run| run.valid);
    let bounds: Vec<(&RunEnded, &SearchBound, f64)> =
        bounds.filter_map(|run| Some((run, run.at_least.as_ref()?, run.figure(&metric.label)?))).collect();
    let named = bounds.iter().take(MOST_NAMED).map(|(run, bound, capacity)| {
        let (configuration, block) = (&run.started.configuration, run.started.block);
        format!(
            "{configuration} in block {block}: the {called} is at least {}; the search was bounded by {bound}.",
            told(*capacity)
        )
    });
    let rest = bounds.len().saturating_sub(MOST_NAMED);
    let rest = (rest > 0).then(|| {
        format!("The {called} of {rest} more runs is only a bound too. None of these is found to be the same as another.")
    });
    named.chain(rest).collect()
}
