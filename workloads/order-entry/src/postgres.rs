//! PostgreSQL: sessions of the measured client on the event loop, one for each user.

mod admin;
mod check;
mod databases;
mod engine;
mod errors;
mod fill;
mod functions;
mod schema;
mod session;
mod statements;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use engine::PostgresEngine;
use errors::PostgresError;
