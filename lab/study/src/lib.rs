//! Studies: schedule, progress, execution and conclusions.
//!
//! Every *block* holds each configuration once, in an order that follows from the seed, so that disturbances
//! of the machine affect all of them ([`schedule`]). The next step follows from the entries of `study.jsonl`
//! alone ([`progress`]), so an interrupted or killed study continues exactly from its state. Figures of one
//! block make a pair, and pairs are compared ([`conclude()`]).
//!
//! This crate makes no runs: [`carry_out`] takes a [`Runner`].

mod analysis;
mod bounds;
mod by_pair;
mod carry;
mod comparison;
pub mod conclude;
mod crossing;
mod demand;
mod enough;
mod equal;
mod figures;
mod measured;
mod percentiles;
pub mod progress;
mod scaling;
pub mod schedule;
mod sentences;

pub use barograph_record::CONTROL;
pub use carry::{RunEnd, Runner, Slot, carry_out};
pub use comparison::{CompareRuns, ComparisonError, Difference, RoundFigures, RoundsToCompare};
pub use conclude::{About, conclude};
pub use demand::{DemandError, demand};
pub use enough::too_few_blocks;
pub use measured::figure;
pub use progress::{NextRun, Progress};
pub use schedule::Schedule;

/// The names of all runs of a block: the configurations, and the control last.
#[must_use]
pub fn places(study: &barograph_spec::study::Study) -> Vec<String> {
    let names = study.configurations.iter().map(|configuration| configuration.name.clone());
    names.chain(study.control.then(|| CONTROL.to_owned())).collect()
}
