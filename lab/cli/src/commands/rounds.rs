//! Comparison of the operations of one load with each other, round by round.

use std::collections::BTreeMap;

use barograph_record::ComparisonRecord;
use barograph_study::{RoundFigures, RoundsToCompare};
use barograph_workload::Workload;

/// Largest difference, as a share, that does not count: as of `barograph compare`.
const MARGIN: f64 = 0.01;

/// Compares the operations of a workload that were done in rounds with the first of them.
pub(crate) fn compared(workload: &dyn Workload) -> Vec<ComparisonRecord> {
    let Some(done) = workload.rounds() else { return Vec::new() };
    let is_done = |name: &&str| done.rounds.iter().any(|round| round.operation == *name);
    let names: Vec<&str> = workload.ops().iter().map(|op| op.name).filter(is_done).collect();
    let mut numbers = BTreeMap::new();
    let mut figures = Vec::new();
    for of in done.rounds.iter().filter(|of| !of.figures.is_empty()) {
        let next = numbers.len() as u32 + 1;
        let round = *numbers.entry((of.user, of.round)).or_insert(next);
        figures.push(RoundFigures { round, name: of.operation, figures: &of.figures });
    }
    let metrics: Vec<[&str; 3]> = done.metrics.iter().map(|m| [m.label, m.title, m.unit]).collect();
    RoundsToCompare { names: &names, metrics: &metrics, figures: &figures, margin: MARGIN }.compare()
}
