//! The Brokerage workload: customers of a broker, and the market that completes their orders, on a database; derived from TPC-E.
//!
//! The transactions are written once over statements whose values are whole numbers (`session`, `statements`). The market is a
//! queue in the driver (`market`). Loaded rows are functions of the seed and of their numbers. After a run, set queries and the
//! counts of the driver check the data. Results are no TPC results and cannot be compared with them.

mod checks;
mod command;
mod conditions;
mod generate;
mod input;
mod market;
mod measures;
mod plan;
mod seam;
mod session;
mod statements;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod trading;
mod transactions;
mod user;

pub use seam::Brokerage;

#[cfg(test)]
#[global_allocator]
static COUNTING: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Raised with every change that can move results or loaded rows.
const VERSION: u32 = 1;
