//! SQLite in this program: a file that is filled once and copied for each run, with a connection and a thread for each user.

mod check;
mod connection;
mod errors;
mod files;
mod fill;
mod refusals;
mod schema;
mod target;
#[cfg(test)]
mod tests;
mod users;

pub use check::{Queries, check};
pub use connection::{CACHE_KIB, Connection, ConnectionOptions};
pub use errors::SqliteError;
pub use files::{Files, FillResult, found};
pub use rusqlite::{Params, Result, Row, params_from_iter, version};
pub use target::{StopAtEnd, Target, address, durability, file_of};
pub use users::{User, Users};
