//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod check;
mod errors;
mod files;
mod fill;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use check::check;
pub(crate) use errors::SqliteError;
pub(crate) use files::{Files, found};
pub(crate) use session::{CACHE_KIB, ConnectionOptions};
pub(crate) use users::SqliteUsers;
