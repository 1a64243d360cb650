//! Errors of the embedded engine.

use std::path::{Path, PathBuf};

/// An error of the embedded engine.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The file has other contents.
    #[error("use `{}`, which {why}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// The file is locked by another run.
    #[error("use `{}`, which another load or run uses now", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{what} `{}`", path.display())]
    File {
        /// What was attempted.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// SQLite refused.
    #[error("{what} `{}`", path.display())]
    Sqlite {
        /// What was attempted.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: rusqlite::Error,
    },
    /// The run was stopped.
    #[error("fill a database in a run that was stopped")]
    Stopped,
}

impl SqliteError {
    /// Makes an error of one of the system.
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |why| SqliteError::File { what, path: path.to_owned(), why }
    }

    /// Makes an error of one of SQLite.
    pub(super) fn sqlite(what: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        move |why| SqliteError::Sqlite { what, path: path.to_owned(), why }
    }
}
