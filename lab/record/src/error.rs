//! What can go wrong with a record, each naming the file.

use std::io;
use std::path::{Path, PathBuf};

/// A record could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A directory of the record could not be made.
    #[error("create directory `{path}`")]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A file of the record could not be opened for writing.
    #[error("create `{path}`")]
    Create {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A file of the record could not be written: a full disk, mostly.
    #[error("write to `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// An entry or a histogram could not be put into its written form.
    #[error("encode for `{path}`")]
    Encode {
        /// The file it was for.
        path: PathBuf,
        /// Why not.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file or directory of the record could not be read.
    #[error("read `{path}`")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A line is not what this file holds.
    #[error("understand `{path}` line {line}")]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file does not begin with a header entry, so it is not a record.
    #[error("find the header entry of `{path}`: this is not a record of a run")]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The record was written by a later program.
    #[error("read `{path}`: it has version {found}, this program reads up to {known}; use a newer barograph")]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Version of the record.
        found: u32,
        /// Newest version this program knows.
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

    /// This error and its causes in one line, for lists of damage in a report.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        barograph_model::words::in_one_line(self)
    }
}
