//! Errors of exports, each with the file or the receiver.

use std::path::{Path, PathBuf};

use barograph_record::RecordError;

/// Failure to write tables, or to make a sender.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The folder of the tables could not be made.
    #[error("create the folder `{path}`")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// A table could not be written.
    #[error("write the table `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A log of the record could not be read.
    #[error("read the histograms of the record")]
    Record(#[from] RecordError),
    /// The sender to a receiver could not be started.
    #[error("start the export to {receiver}")]
    Start {
        /// The receiver.
        receiver: String,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ExportError {
    pub(crate) fn write(path: &Path, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ExportError::Write { path: path.to_owned(), why: why.into() }
    }
}
