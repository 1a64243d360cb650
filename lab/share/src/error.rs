//! Errors of shared files, each with the file.

use std::io;
use std::path::{Path, PathBuf};

/// Failure to pack or unpack a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The folder holds neither a run nor a study.
    #[error("find a record in `{folder}`: it holds neither `run.jsonl` nor `study.jsonl`")]
    NoRecord {
        /// The folder.
        folder: PathBuf,
    },
    /// A file could not be read.
    #[error("read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A file could not be written.
    #[error("write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// The record exceeds the limits for reading.
    #[error("keep `{path}` within the bounds of a shared file: {bound}")]
    TooLarge {
        /// The record or the shared file.
        path: PathBuf,
        /// The bound, in words.
        bound: String,
    },
    /// The shared file has a member that belongs to no record.
    #[error("unpack `{path}`: its member `{member}` {what}")]
    Foreign {
        /// The shared file.
        path: PathBuf,
        /// Name of the member, as in the file.
        member: String,
        /// The fault.
        what: &'static str,
    },
}

impl ShareError {
    pub(crate) fn read(path: &Path, why: io::Error) -> Self {
        ShareError::Read { path: path.to_owned(), why }
    }

    pub(crate) fn write(path: &Path, why: io::Error) -> Self {
        ShareError::Write { path: path.to_owned(), why }
    }
}
