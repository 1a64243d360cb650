//! The statements of the operations on each engine.

pub(crate) mod mariadb;
pub(crate) mod postgres;
mod sqlite;
