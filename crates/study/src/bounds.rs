//! Capacities that are only a bound: the search ended at the highest level that was allowed, or at one that could not be
//! believed, so the system may hold more. Two such figures can be the same while the capacities are not.

use barograph_model::Metric;
use barograph_record::RunEnded;
use barograph_spec::study::{MetricPlan, Study};
use barograph_stats::compare::{Comparison, Finding};

use crate::sentences::number;

/// Runs that are named one by one; what is said of more of them is said once.
const MOST_NAMED: usize = 5;

/// Is some figure of this configuration only a bound?
pub(crate) fn bounded(runs: &[RunEnded], configuration: &str, metric: &MetricPlan) -> bool {
    let is_bound = |run: &RunEnded| run.valid && run.at_least.is_some();
    metric.metric == Metric::Capacity
        && runs.iter().any(|run| run.started.configuration == configuration && is_bound(run))
}

/// Takes back what does not follow where figures of `baseline` or `candidate` are only bounds: that they are the same; that
/// the side with a bound is the smaller. More pairs of such figures would not decide.
pub(crate) fn weaken(compared: &mut Comparison, (baseline, candidate): (bool, bool)) {
    let follows = match compared.finding {
        Finding::Undecided | Finding::Equivalent => !baseline && !candidate,
        Finding::Better | Finding::Worse if compared.ratio > 1.0 => !baseline,
        Finding::Better | Finding::Worse => !candidate,
    };
    if !follows {
        compared.finding = Finding::Undecided;
        compared.pairs_needed = None;
    }
}

/// One sentence per run whose capacity is only a bound; where there are many the rest in one.
pub(crate) fn warnings(study: &Study, runs: &[RunEnded]) -> Vec<String> {
    let capacities = study.metrics.iter().filter(|metric| metric.metric == Metric::Capacity);
    // A bound is told once for each run: of the capacity itself, where the study has it.
    let Some(metric) = capacities.min_by_key(|metric| metric.per.is_some()) else {
        return Vec::new();
    };
    let called = metric.called();
    let told = |capacity: f64| if metric.per.is_some() { number(capacity) } else { format!("{capacity:.0}") };
    let bounds = runs.iter().filter(|run| run.valid);
    let bounds: Vec<(&RunEnded, &str, f64)> =
        bounds.filter_map(|run| Some((run, run.at_least.as_deref()?, run.figure(&metric.label)?))).collect();
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

#[cfg(test)]
mod tests {
    use barograph_stats::compare::Finding::{Better, Equivalent, Undecided, Worse};
    use barograph_stats::compare::{Direction, Pair, compare};

    use super::*;

    #[test]
    fn what_does_not_follow_from_a_bound_is_taken_back() {
        let found = |ratio: f64, bounds: (bool, bool)| {
            let pairs: Vec<Pair> =
                (0..8).map(|i| Pair::new(100.0, 100.0 * ratio * (1.0 + 1e-4 * f64::from(i)))).collect();
            let mut compared = compare(&pairs, Direction::Higher, 0.01);
            weaken(&mut compared, bounds);
            compared.finding
        };
        for (ratio, without, of_baseline, of_candidate) in [
            (1.0, Equivalent, Undecided, Undecided),
            // "At least 200" is more than 100, and less than no "at least 100".
            (2.0, Better, Undecided, Better),
            (0.5, Worse, Worse, Undecided),
        ] {
            let all = [(false, false), (true, false), (false, true)].map(|bounds| found(ratio, bounds));
            assert_eq!(all, [without, of_baseline, of_candidate], "{ratio}");
        }
        assert_eq!(found(2.0, (true, true)), Undecided);
    }
}
