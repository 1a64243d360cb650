//! The measured PostgreSQL client: extended protocol with binary values, pipelines, COPY, on the connections of
//! `barograph-net`.
//!
//! An [`Address`] is read and becomes a [`Target`] before any clock starts; a [`Client`] is one worker's, and makes
//! [`Connection`]s. Statements are prepared once for each connection and then sent in a [`Batch`], one or several in a
//! round trip; their rows are read in place. Nothing is allocated for a statement once buffers are warm.
//!
//! It does what a measuring client may do and nothing more: no retry, no reconnection, no statement of its
//! own. It knows no clock: time-outs are the engine's, which drops the call. A call that is dropped leaves its
//! connection unusable, so that no answer is taken for another one.

mod address;
mod authentication;
mod backend;
mod batch;
mod binding;
mod client;
mod column;
mod connection;
mod copy_in;
mod copy_out;
mod diagnostic;
mod fault;
mod fields;
mod flaw;
mod frontend;
#[cfg(test)]
mod fuzz;
mod inbox;
mod param;
mod replies;
mod row;
mod settings;
mod sql_type;
mod statement;
mod target;

pub use address::{Address, AddressError, Host, Password, SslMode};
pub use authentication::LoginError;
pub use backend::{CancelKey, Transaction};
pub use batch::Batch;
pub use client::Client;
pub use column::Column;
pub use connection::Connection;
pub use copy_in::CopyIn;
pub use copy_out::CopyOut;
pub use diagnostic::{Diagnostic, SqlState};
pub use fault::{CallError, Fault};
pub use flaw::Flaw;
pub use param::Param;
pub use replies::{CommandTag, Replies, Reply};
pub use row::{ColumnError, FromColumn, Row};
pub use sql_type::{SqlType, Timestamp};
pub use statement::Statement;
pub use target::Target;
