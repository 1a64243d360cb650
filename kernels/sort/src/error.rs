//! Errors of work on records.

use std::io;

/// Failure of a step.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// Records could not be read.
    #[error("read records at byte {at}")]
    Read {
        /// Offset in the file.
        at: u64,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// Records could not be written.
    #[error("write records at byte {at}")]
    Write {
        /// Offset in the file.
        at: u64,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A file ends within a record.
    #[error("divide {bytes} bytes into records")]
    Broken {
        /// Length of the file.
        bytes: u64,
    },
    /// The end was requested.
    #[error("finish before the end was requested")]
    Stopped,
}

impl SortError {
    /// Whether the disk is full.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        matches!(self, SortError::Write { why, .. } if full.contains(&why.kind()))
    }
}
