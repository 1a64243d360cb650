//! What can go wrong with a shared file, each naming the file.

use std::io;
use std::path::{Path, PathBuf};

/// A record could not be packed or unpacked.
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
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A file could not be written.
    #[error("write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// The record is larger than what is read back.
    #[error("keep `{path}` within the bounds of a shared file: {bound}")]
    TooLarge {
        /// The record or the shared file.
        path: PathBuf,
        /// The bound, in words.
        bound: String,
    },
    /// The shared file holds something that no record has.
    #[error("unpack `{path}`: its member `{member}` {what}")]
    Foreign {
        /// The shared file.
        path: PathBuf,
        /// Name of the member as it stands in the file.
        member: String,
        /// What is wrong with it.
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
