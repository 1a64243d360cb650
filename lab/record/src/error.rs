//! Errors of reading and writing records, each with the file.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A directory of the record could not be created.
    #[error("create directory `{path}`")]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A file of the record could not be opened for writing.
    #[error("create `{path}`")]
    Create {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A file of the record could not be written, usually because the disk is full.
    #[error("write to `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// An entry or a histogram could not be encoded.
    #[error("encode for `{path}`")]
    Encode {
        /// The intended file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file or directory of the record could not be read.
    #[error("read `{path}`")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A line is invalid for its file.
    #[error("understand `{path}` line {line}")]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Defect of the line.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file does not begin with a header entry, so it is not a record.
    #[error("find the header entry of `{path}`: this is not a record of a run")]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The record was written by a later version of the program.
    #[error("read `{path}`: it has version {found}, this program reads up to {known}; use a newer barograph")]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Version of the record.
        found: u32,
        /// Newest version known to this program.
        known: u32,
    },
}

impl RecordError {
    pub(crate) fn write(path: &Path, why: io::Error) -> Self {
        RecordError::Write { path: path.to_owned(), why }
    }

    pub(crate) fn read(path: &Path, why: io::Error) -> Self {
        RecordError::Read { path: path.to_owned(), why }
    }

    pub(crate) fn bad_line(
        path: &Path,
        line: usize,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        RecordError::BadLine { path: path.to_owned(), line, why: why.into() }
    }

    /// Formats this error and its causes in one line, for lists of damage in a report.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        barograph_model::words::in_one_line(self)
    }
}
