//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod asking;
mod errors;
mod files;
mod fill;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use asking::check;
pub(crate) use errors::SqliteError;
pub(crate) use files::{Files, found};
pub(crate) use session::{CACHE_KIB, Connecting};
pub(crate) use users::SqliteUsers;
