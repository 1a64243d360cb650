//! The Store workload: visitors of a web store who log in, search and buy, derived from DVD Store.
//!
//! The operations are written once over the statements of an engine (`session`). Loaded rows are functions of the seed and of
//! their numbers, so that users know titles and names without a query. After a run, set queries and the counts of the driver
//! check the data. Results are no DVD Store results and cannot be compared with them.

mod checks;
mod command;
mod conditions;
mod engines;
mod generate;
mod input;
mod measures;
mod operations;
mod plan;
mod seam;
mod session;
mod shuffle;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod user;
mod web;
mod words;

pub use seam::Store;

#[cfg(test)]
#[global_allocator]
static COUNTING: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Raised with every change that can move results or loaded rows.
const VERSION: u32 = 1;
