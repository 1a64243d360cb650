//! PostgreSQL: the statements of the transactions, and the transactions as functions.

mod functions;
mod session;
mod statements;

pub(crate) use statements::{FUNCTIONS, Sql};
