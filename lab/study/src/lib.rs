//! A study: which configuration is run when, what is done already, and what follows from the figures.
//!
//! Every *block* holds each configuration once, in an order of its own that follows from the seed, so that whatever
//! happens to the machine meanwhile happens to all of them ([`schedule`]). What comes next follows from the entries of
//! `study.jsonl` alone ([`progress`]), so an interrupted or killed study goes on exactly where it was. Figures of one
//! block make a pair, and pairs are what is compared ([`conclude()`]).
//!
//! This crate makes no runs: [`carry_out`] is handed somebody who does.

mod analysis;
mod bounds;
mod carry;
mod comparison;
pub mod conclude;
mod crossing;
mod enough;
mod figures;
mod measured;
mod percentiles;
pub mod progress;
mod scaling;
pub mod schedule;
mod sentences;

pub use barograph_record::CONTROL;
pub use carry::{Made, Runner, Wanted, carry_out};
pub use comparison::{CompareRuns, Difference, NotComparable};
pub use conclude::{About, conclude};
pub use enough::too_few_blocks;
pub use measured::figure;
pub use progress::{Next, Progress};
pub use schedule::Schedule;

/// The names of everything that is run in a block: the configurations, and the control last.
#[must_use]
pub fn places(study: &barograph_spec::study::Study) -> Vec<String> {
    let names = study.configurations.iter().map(|configuration| configuration.name.clone());
    names.chain(study.control.then(|| CONTROL.to_owned())).collect()
}
