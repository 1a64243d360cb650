//! Errors of PostgreSQL outside of the load.

use std::error::Error;
use std::io;

use barograph_postgres::{Fault, SqlState};

/// The state of an error about a database with sessions.
const IN_USE: SqlState = SqlState(*b"55006");

/// An error outside of the load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    /// The database has other contents.
    #[error("use database `{name}`, which {why}")]
    NotOurs {
        /// The database.
        name: String,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// Sessions of others are in the database.
    #[error("use database `{name}`, in which others have sessions now")]
    InUse {
        /// The database.
        name: String,
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

impl PostgresError {
    /// Makes an error of one of the client.
    pub(super) fn of(what: &'static str, name: &str) -> impl FnOnce(Fault) -> Self {
        move |why| match &why {
            Fault::Server(said) if said.state() == IN_USE => PostgresError::InUse { name: name.to_owned() },
            _ => PostgresError::Failed { what, name: name.to_owned(), why },
        }
    }

    /// The refusal of a database with contents of others.
    pub(super) fn foreign(name: &str) -> Self {
        let why = "holds something else than an Order-Entry database".to_owned();
        PostgresError::NotOurs { name: name.to_owned(), why }
    }
}
