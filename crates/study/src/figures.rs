//! The figures of a study by block: what is paired, and what a median is taken of.

use std::collections::BTreeMap;

use barograph_record::RunEnded;
use barograph_stats::compare::Pair;

/// The figure of each block in which there is one.
pub(crate) type ByBlock = BTreeMap<u32, f64>;

/// The figures of a metric of a configuration.
pub(crate) fn of(runs: &[RunEnded], configuration: &str, label: &str) -> ByBlock {
    let usable = runs.iter().filter(|run| run.valid && run.started.configuration == configuration);
    usable.filter_map(|run| Some((run.started.block, run.figure(label)?))).collect()
}

/// Both figures of every block that has a run of each; one that was not measured is not a number, which is counted as
/// excluded.
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
