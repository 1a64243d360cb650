//! What workloads on databases share: tables and rows, random texts, transactions and their errors, data checks, and SQLite in
//! this program.

mod check;
mod draw;
mod rows;
pub mod sqlite;
mod transaction;

pub use check::{Database, Findings, Violations, number};
pub use draw::{digits, number_at, text};
pub use rows::{Batch, Contents, Table, TableSpec, Value};
pub use sqlite::StopAtEnd;
pub use transaction::{Access, Conflict, Reply, TransactionError};
