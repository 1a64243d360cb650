//! The measured client of MySQL and MariaDB: prepared statements with binary rows, queries of several statements, bulk
//! rows by LOAD DATA, on the connections of `barograph-net`.
//!
//! An [`Address`] is read and becomes a [`Target`] before any clock starts. A [`Client`] belongs to one worker and makes
//! [`Connection`]s. Statements are prepared once for each connection; their rows are read in place. A statement allocates
//! nothing once buffers are warm.
//!
//! The client neither retries nor reconnects, and sends no statement of its own. It knows no clock: time-outs are the
//! engine's, which drops the call. A call that is dropped leaves its connection unusable, so that no answer is taken for
//! another one.

mod address;
mod answer;
mod authentication;
mod client;
mod connection;
mod diagnostic;
mod fault;
mod fields;
mod flaw;
#[cfg(test)]
mod fuzz;
mod greeting;
mod inbox;
mod load_data;
mod packet;
mod param;
mod replies;
mod row;
mod rsa;
mod sql_type;
mod statement;
mod target;
mod timestamp;

pub use address::{Address, AddressError, Host, Password, SslMode};
pub use answer::Done;
pub use authentication::LoginError;
pub use client::Client;
pub use connection::{Connection, SessionId};
pub use diagnostic::{Diagnostic, ErrorCode};
pub use fault::{CallError, Fault};
pub use flaw::Flaw;
pub use load_data::LoadData;
pub use param::Param;
pub use replies::{Replies, Reply};
pub use row::{ColumnError, FromColumn, Row};
pub use sql_type::SqlType;
pub use statement::Statement;
pub use target::Target;
pub use timestamp::Timestamp;
