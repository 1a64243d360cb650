//! What can go wrong while sampling.

use std::io;
use std::path::PathBuf;

/// A sample could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The process ended; its last sample is the last there will be.
    #[error("process {pid} is gone")]
    Gone {
        /// The process that was watched.
        pid: u32,
    },
    /// A file of the kernel could not be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of the kernel does not look as expected.
    #[error("no usable {what} in `{}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The piece that was looked for.
        what: &'static str,
    },
}
