//! Errors of rings.

use std::io;

use rustix::io::Errno;

/// A ring could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The kernel made no ring.
    #[error("set up io_uring{}", hint(why))]
    SetUp {
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// The kernel did not take the buffers.
    #[error("register {bytes} bytes of buffers with io_uring, within the limit on locked memory (ulimit -l)")]
    RegisterBuffers {
        /// Bytes of all buffers.
        bytes: usize,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// The kernel did not take the file.
    #[error("register a file with io_uring")]
    RegisterFile {
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// There is no memory for buffers.
    #[error("get {bytes} bytes of memory for buffers")]
    Memory {
        /// Bytes of all buffers.
        bytes: usize,
        /// Why not.
        #[source]
        why: io::Error,
    },
}

/// The usual cause of an error of `io_uring_setup`.
fn hint(why: &io::Error) -> &'static str {
    match Errno::from_io_error(why) {
        Some(Errno::PERM | Errno::ACCESS) => {
            ", which the system forbids (sysctl kernel.io_uring_disabled, or the seccomp profile of a container)"
        }
        Some(Errno::NOSYS) => {
            ", which the kernel does not have, or hides (the seccomp profile of a container)"
        }
        Some(Errno::NOMEM) => ", for which there is no memory or too little may be locked (ulimit -l)",
        _ => "",
    }
}
