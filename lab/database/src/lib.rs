//! What workloads on databases share: tables and rows, random texts, transactions with their errors and retries, measures, data
//! checks, and SQLite in this program.

mod check;
mod draw;
mod gaps;
pub mod measures;
mod rows;
pub mod sqlite;
mod statistics;
mod tally;
mod terminal;
mod transaction;

pub use check::{Condition, Database, Findings, Violations, number};
pub use draw::{digits, number_at, text};
pub use gaps::{CommitGaps, OpenGap};
pub use rows::{Batch, Column, ColumnType, Contents, Indices, Span, Table, TableSpec, Value};
pub use sqlite::{FillResult, StopAtEnd};
pub use statistics::{LONGEST_GAP, STATISTICS};
pub use tally::Tally;
pub use terminal::{Terminal, Transacts};
pub use transaction::{Access, Conflict, Reply, TransactionError, Transactions, with_retries};
