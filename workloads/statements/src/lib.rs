//! The statements workload: tables, values, transactions and checks of a file, on a database.
//!
//! A file (`script`) is for users who bring statements of their own, as to pgbench or sysbench. Transactions are executed the
//! same way on every engine; an engine differs in how the values of a statement are bound and how its rows are read.

mod checks;
mod command;
mod contents;
mod draw;
mod engines;
mod measures;
mod parameters;
mod plan;
mod read;
mod script;
mod seam;
mod tally;
#[cfg(test)]
mod tests;
mod user;

pub use seam::Statements;

#[cfg(test)]
#[global_allocator]
static COUNTING: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Raised with every change that can move results or loaded rows.
const VERSION: u32 = 1;
