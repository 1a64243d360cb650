//! MariaDB: the statements of the transactions, and the transactions as procedures.

mod procedures;
mod session;
mod statements;

pub(crate) use statements::{PROCEDURES, Sql};
