//! The application's stores alone, without the application.

pub(crate) mod documents;
pub(crate) mod sql;
pub(crate) mod sqlite;
