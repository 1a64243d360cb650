//! Errors of MariaDB outside of the load.

use std::error::Error;
use std::io;

use barograph_mysql::{ErrorCode, Fault};

/// An error outside of the load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MariadbError {
    /// The database has other contents.
    #[error("use database `{name}`, which {why}")]
    NotOurs {
        /// The database.
        name: String,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// Sessions of others hold tables of the database.
    #[error("use database `{name}`, in which others have transactions now")]
    InUse {
        /// The database.
        name: String,
    },
    /// The server is another product.
    #[error("use a server of version {version}, which is no MariaDB")]
    OtherProduct {
        /// Version of the server.
        version: String,
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
        why: Fault,
    },
    /// The server has changed or skipped rows.
    #[error("fill table `{table}` with all its rows: the server has given {warnings} warnings")]
    Changed {
        /// The table.
        table: &'static str,
        /// Warnings.
        warnings: u16,
    },
    /// The system refused an event loop.
    #[error("make an event loop")]
    Loop(#[source] io::Error),
    /// A thread ended early.
    #[error("get an answer from a thread of this program")]
    Thread,
    /// The run was stopped.
    #[error("fill a database in a run that was stopped")]
    Stopped,
}

impl MariadbError {
    /// Makes an error of one of the client.
    pub(super) fn of(what: &'static str, name: &str) -> impl FnOnce(Fault) -> Self {
        move |why| match &why {
            Fault::Server(said) if said.code() == ErrorCode::LOCK_WAIT_TIMEOUT => {
                MariadbError::InUse { name: name.to_owned() }
            }
            _ => MariadbError::Failed { what, name: name.to_owned(), why },
        }
    }

    /// The refusal of a database with contents of others.
    pub(super) fn foreign(name: &str) -> Self {
        let why = "holds something else than an Order-Entry database".to_owned();
        MariadbError::NotOurs { name: name.to_owned(), why }
    }
}
