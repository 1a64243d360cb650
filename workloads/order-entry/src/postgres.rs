//! PostgreSQL: the statements of the transactions, one by one and pipelined, and the transactions as functions.

mod arrays;
mod functions;
mod pipelined;
mod session;
mod statements;

pub(crate) use statements::{FUNCTIONS, Sql};
