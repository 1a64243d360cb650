//! SQLite, PostgreSQL and MariaDB behind one seam ([`Engine`]): a database is filled once, copied for a run, and checked after it.
//!
//! A workload says what differs between workloads ([`DatabaseWorkload`]), a server product what differs between products
//! (`product`). The transactions of a workload are written once over its own trait, which it implements for the connection of
//! SQLite and for the sessions of the two servers ([`PostgresSession`], [`MariadbSession`]).

mod anomalies;
mod chunk;
mod command;
mod databases;
mod engine;
mod errors;
mod fill;
mod form;
mod kills;
mod load;
mod mariadb;
mod observer;
mod parts;
mod postgres;
mod probe;
mod product;
mod query;
mod rules;
mod server;
mod settings;
mod sqlite;
mod standby;
#[cfg(test)]
mod tests;
mod topology;
mod users;

pub use command::DatabaseArgs;
pub use engine::{DatabasePlan, DatabaseWorkload, Engine, EngineKind, check, engine, fill_entry, gauges};
pub use errors::ServerError;
pub use form::{FORMS, Form, PIPELINED_FORMS};
pub use load::{DatabaseLoad, DatabaseOperations};
pub use mariadb::{MariadbSession, MariadbSessions};
pub use parts::{ServerParts, Standby};
pub use postgres::{PostgresSession, PostgresSessions, Rows};
pub use probe::anomalies;
pub use query::{Query, numbered};
pub use rules::Rules;
pub use server::rows;
pub use settings::{DURABILITIES, DatabaseSettings, ISOLATIONS};
pub use topology::{TIER, TIERS};
pub use users::{SessionUser, SessionUsers, Sessions};
