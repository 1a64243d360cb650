//! Errors of database servers outside of the load.

use std::error::Error;
use std::io;

/// The cause of an error.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// An error outside of the load.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The database has other contents.
    #[error("use database `{name}`, which {why}")]
    NotOurs {
        /// The database.
        name: String,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// The database is in use.
    #[error("use database `{name}`, in which others have {what} now")]
    InUse {
        /// The database.
        name: String,
        /// `sessions` or `transactions`.
        what: &'static str,
    },
    /// The server is another product.
    #[error("use a server of version {version}, which is no {wanted}")]
    OtherProduct {
        /// Version of the server.
        version: String,
        /// The product that the address is of.
        wanted: &'static str,
    },
    /// Commits of the server do not wait for the disk.
    #[error("get durable commits of a server with {settings}")]
    NotDurable {
        /// Its settings.
        settings: String,
    },
    /// The server does not answer.
    #[error("reach the server")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// A statement failed.
    #[error("{what} database `{name}`")]
    Failed {
        /// What was attempted.
        what: &'static str,
        /// The database.
        name: String,
        /// Why not.
        #[source]
        why: Box<dyn Error + Send + Sync>,
    },
    /// The server has changed or skipped rows.
    #[error("fill table `{table}` with all its rows: the server has given {warnings} warnings")]
    Changed {
        /// The table.
        table: &'static str,
        /// Warnings.
        warnings: u16,
    },
    /// The system refused a thread or an event loop.
    #[error("make a thread")]
    Loop(#[source] io::Error),
    /// A thread ended early.
    #[error("get an answer from a thread of this program")]
    Thread,
    /// The run was stopped.
    #[error("fill a database in a run that was stopped")]
    Stopped,
}

/// The failure of a statement.
pub(crate) struct Failure {
    /// The database is in use.
    pub(crate) is_in_use: bool,
    pub(crate) why: Cause,
}
