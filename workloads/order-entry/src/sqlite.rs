//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod check;
mod engine;
mod errors;
mod files;
mod fill;
mod schema;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod users;

use check::check;
pub(crate) use engine::SqliteEngine;
use errors::SqliteError;
use files::{Files, found};
use session::{CACHE_KIB, ConnectionOptions};
use users::SqliteUsers;
