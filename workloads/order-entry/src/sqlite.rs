//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod check;
mod session;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use barograph_database::sqlite::{CACHE_KIB, ConnectionOptions, SqliteError, found};
pub(crate) use check::check;

use crate::generate::Generator;
use crate::user::Terminal;

/// The files of a database, locked for one run.
pub(crate) type Files = barograph_database::sqlite::Files<Generator>;

/// Makes the users of a file.
pub(crate) type SqliteUsers = barograph_database::sqlite::Users<Terminal>;
