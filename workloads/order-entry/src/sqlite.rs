//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod engine;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod users;

pub(crate) use engine::SqliteEngine;

use crate::generate::Generator;
use crate::user::Terminal;

/// The files of a database, locked for one run.
#[cfg(test)]
type Files = barograph_database::sqlite::Files<Generator>;

/// The file that a load goes to.
type Target = barograph_database::sqlite::Target<Generator>;

/// Makes the users of a file.
pub(crate) type SqliteUsers = barograph_database::sqlite::Users<Terminal>;
