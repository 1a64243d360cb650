//! The Order-Entry workload: five transactions on the database of a wholesale supplier, derived from TPC-C.
//!
//! A user has a home warehouse and draws its transactions from a deck of 23 cards. The transactions are written once, over the
//! statements of an engine ([`session`]); loaded rows and input follow from the seed. After a run the data are checked by
//! set queries and held against what the driver counted. A result is none of TPC-C and cannot be compared with one.

mod checks;
mod conditions;
mod draw;
mod generate;
mod input;
mod measures;
mod plan;
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

/// Raised with every change that can move results or loaded rows.
const VERSION: u32 = 1;
