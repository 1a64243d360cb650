//! Errors of sampling.

use std::io;
use std::path::PathBuf;

/// A failure to take a sample.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The process ended, so there are no further samples.
    #[error("process {pid} is gone")]
    Gone {
        /// The watched process.
        pid: u32,
    },
    /// A file of the kernel could not be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of the kernel has an unexpected format.
    #[error("no usable {what} in `{}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The missing piece.
        what: &'static str,
    },
}
