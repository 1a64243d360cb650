//! The Order-Entry workload: five transactions on the database of a wholesale supplier, derived from TPC-C.
//!
//! A user has a home warehouse and draws its transactions from a deck of 23 cards. The transactions are written once over the
//! statements of an engine (`session`). Loaded rows and inputs are functions of the seed. After a run, set queries and the
//! counts of the driver check the data. Results are no TPC results and cannot be compared with them.

mod checks;
mod command;
mod conditions;
mod draw;
mod generate;
mod input;
mod mariadb;
mod measures;
mod plan;
mod postgres;
mod seam;
mod session;
mod sqlite;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod transactions;
mod user;

pub use seam::OrderEntry;

#[cfg(test)]
#[global_allocator]
static COUNTING: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Raised with every change that can move results or loaded rows.
const VERSION: u32 = 1;
