//! The seam to connections that others open, for servers that ask for a password, for TLS or for a socket.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

/// Opens a connection. It is made by the first statement, and must not block.
pub type OpenStatements = Arc<dyn Fn() -> Box<dyn Statements> + Send + Sync>;

/// The rows of a statement: a name and a value each, null left out.
pub type StatementFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<(String, String)>, StatementError>> + Send + 'a>>;

/// A connection that takes statements. Dropped, it ends, whether its server answers or not.
pub trait Statements: fmt::Debug + Send {
    /// Runs a statement with rows of two columns.
    fn rows<'a>(&'a mut self, sql: &'a str) -> StatementFuture<'a>;
}

/// A statement without an answer.
#[derive(Debug)]
pub enum StatementError {
    /// The connection could not be opened, or broke.
    Broken(io::Error),
    /// The user has no right to it.
    Denied(String),
    /// This version of the server does not know it.
    Unknown(String),
    /// The server refused for another reason.
    Refused(String),
}
