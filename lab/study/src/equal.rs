//! How often scores are equal: of two runs of the control, and of two tiles in one run, by their windows.

use barograph_model::Metric;
use barograph_record::{MetricRecord, RunEnded};
use barograph_spec::study::MetricPlan;
use barograph_stats::score::Difference;

/// Sentences about the score, if it is a metric of the study and runs have several windows.
pub(crate) fn sentences(plans: &[MetricPlan], metrics: &[MetricRecord], runs: &[RunEnded]) -> Vec<String> {
    let is_score = |plan: &&MetricPlan| plan.metric == Metric::Score && plan.per.is_none();
    let score = plans.iter().zip(metrics).find(|(plan, _)| is_score(plan));
    let Some((_, metric)) = score else { return Vec::new() };
    let usable: Vec<&RunEnded> = runs.iter().filter(|run| run.valid).collect();
    let told = |what: &str, which: &str, found: Vec<Difference>| {
        let equal = found.iter().filter(|one| one.holds_none()).count();
        (!found.is_empty()).then(|| {
            format!(
                "{}: {equal} of {} pairs of {what} equal within the interval: the 95 % interval of the {which} holds 0.",
                metric.called(),
                found.len()
            )
        })
    };
    let of_runs = told("runs", "difference of the means over windows", between(metric, &usable));
    let of_tiles = told("tiles in one run", "mean difference in a window", within(&usable));
    of_runs.into_iter().chain(of_tiles).collect()
}

/// The difference of each block with a run of the control and one of its baseline.
fn between(metric: &MetricRecord, runs: &[&RunEnded]) -> Vec<Difference> {
    let Some(control) = metric.rows.iter().find(|row| row.control) else { return Vec::new() };
    let of = |name: &str, block: u32| {
        let run = runs.iter().find(|run| run.started.configuration == name && run.started.block == block)?;
        Some(run.scores.iter().map(|tiles| tiles.iter().sum()).collect::<Vec<f64>>())
    };
    let mut blocks: Vec<u32> = runs.iter().map(|run| run.started.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let difference =
        |block| Difference::of(&of(&control.baseline, block)?, &of(&control.configuration, block)?);
    blocks.into_iter().filter_map(difference).collect()
}

/// The difference of any two tiles of each run.
fn within(runs: &[&RunEnded]) -> Vec<Difference> {
    let of_run = |run: &&RunEnded| {
        let tiles = run.scores.iter().map(Vec::len).min().unwrap_or(0);
        let of = |tile: usize| run.scores.iter().map(|tiles| tiles[tile]).collect::<Vec<f64>>();
        let pairs = (0..tiles).flat_map(|one| (one + 1..tiles).map(move |other| (one, other)));
        pairs.filter_map(|(one, other)| Difference::within(&of(one), &of(other))).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use barograph_record::RowRecord;
    use barograph_spec::study::read;

    use super::*;
    use crate::CONTROL;
    use crate::figures::made;

    fn run(block: u32, configuration: &str, scores: &[&[f64]]) -> RunEnded {
        let scores = scores.iter().map(|tiles| tiles.to_vec()).collect();
        RunEnded { scores, ..made(block, configuration, ("score", 1.0)) }
    }

    fn said_of(metric: &str, runs: &[RunEnded]) -> Vec<String> {
        let text = format!("question = \"q\"\nplan = \"p\"\n[[metric]]\nof = \"{metric}\"\n");
        let study = read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"));
        let control = RowRecord {
            configuration: CONTROL.to_owned(),
            baseline: "plan".to_owned(),
            control: true,
            ..RowRecord::default()
        };
        let metric = MetricRecord {
            label: metric.to_owned(),
            rows: vec![RowRecord::default(), control],
            ..MetricRecord::default()
        };
        sentences(&study.metrics, &[metric], runs)
    }

    #[test]
    fn runs_of_one_block_are_counted_by_their_windows() {
        let mut runs = vec![
            run(1, "plan", &[&[1.0], &[1.1], &[0.9]]),
            run(1, CONTROL, &[&[1.1], &[1.2], &[1.0]]),
            run(2, "plan", &[&[1.0], &[1.01], &[0.99]]),
            run(2, CONTROL, &[&[1.1], &[1.11], &[1.09]]),
            run(3, "plan", &[&[1.0], &[1.01], &[0.99]]),
        ];
        let expected = "score: 1 of 2 pairs of runs equal within the interval: the 95 % interval of the difference of the means \
             over windows holds 0.";
        assert_eq!(said_of("score", &runs), [expected]);
        runs[3].valid = false;
        assert_eq!(said_of("score", &runs), [expected.replace("of 2", "of 1")]);
        assert!(said_of("fairness", &runs).is_empty());
    }

    #[test]
    fn tiles_of_one_run_are_counted_by_the_same_windows() {
        // Windows move both tiles by more than they differ; in the second run one tile is always ahead.
        let runs = [
            run(1, "plan", &[&[1.0, 1.02], &[2.0, 1.98], &[3.0, 3.01]]),
            run(2, "plan", &[&[1.0, 1.02], &[2.0, 2.021], &[3.0, 3.019]]),
        ];
        let expected = "score: 1 of 2 pairs of tiles in one run equal within the interval: the 95 % interval of the mean \
             difference in a window holds 0.";
        assert_eq!(said_of("score", &runs), [expected]);
        let three = [run(1, "plan", &[&[1.0, 1.1, 1.2], &[1.1, 1.0, 1.2]])];
        assert!(
            said_of("score", &three)[0].starts_with("score: 3 of 3 pairs of tiles"),
            "{:?}",
            said_of("score", &three)
        );
    }

    #[test]
    fn a_single_window_says_nothing() {
        let one: [&[f64]; 1] = [&[1.0, 1.0]];
        assert!(said_of("score", &[run(1, "plan", &one), run(1, CONTROL, &one)]).is_empty());
        assert!(said_of("score", &[run(1, "plan", &[]), run(1, CONTROL, &[])]).is_empty());
    }
}
