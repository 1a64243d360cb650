//! The figures of a study by block, for pairs and medians.

use std::collections::BTreeMap;

use barograph_record::RunEnded;
#[cfg(test)]
use barograph_record::{Figure, RunStarted};
use barograph_stats::compare::Pair;

/// Figures by block.
pub(crate) type ByBlock = BTreeMap<u32, f64>;

/// The figures of a metric of a configuration.
pub(crate) fn of(runs: &[RunEnded], configuration: &str, label: &str) -> ByBlock {
    let usable = runs.iter().filter(|run| run.valid && run.started.configuration == configuration);
    usable.filter_map(|run| Some((run.started.block, run.figure(label)?))).collect()
}

/// Both figures of every block with a run of each; a missing one is NaN, which is counted as excluded.
pub(crate) fn pairs(runs: &[RunEnded], baseline: &str, candidate: &str, label: &str) -> Vec<Pair> {
    let blocks = |name: &str| {
        let usable = runs.iter().filter(|run| run.valid && run.started.configuration == name);
        let figure = |run: &RunEnded| run.figure(label).unwrap_or(f64::NAN);
        usable.map(|run| (run.started.block, figure(run))).collect::<ByBlock>()
    };
    let candidates = blocks(candidate);
    let both = blocks(baseline).into_iter().filter_map(|(block, figure)| {
        candidates.get(&block).map(|other| Pair { baseline: figure, candidate: *other })
    });
    both.collect()
}

/// A valid run with one figure, for tests.
#[cfg(test)]
pub(crate) fn made(block: u32, configuration: &str, (label, value): (&str, f64)) -> RunEnded {
    RunEnded {
        started: RunStarted {
            block,
            configuration: configuration.to_owned(),
            attempt: 1,
            run: format!("{configuration} {block}"),
            warm_up: false,
        },
        seconds: 10.0,
        valid: true,
        passed: true,
        interrupted: false,
        reasons: Vec::new(),
        figures: vec![Figure::new(label, value)],
        at_least: None,
        stolen: None,
        scores: Vec::new(),
        missing: Vec::new(),
        times: Vec::new(),
    }
}
