//! MariaDB: the statements of the transactions.

mod session;
mod statements;

pub(crate) use statements::Sql;
