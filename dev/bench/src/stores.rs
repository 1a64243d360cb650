//! The application's stores by themselves, without the application.

pub(crate) mod documents;
pub(crate) mod sql;
pub(crate) mod sqlite;
