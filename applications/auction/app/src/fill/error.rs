//! Errors of a fill.

use barograph_auction_store::StoreError;
use std::io;
use std::path::{Path, PathBuf};

/// Failure of a fill; each message completes "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The folder holds the data of another plan, which are left as they are.
    #[error("reuse the data in {}: they are {found}, and {wanted} are wanted; choose another folder or remove it", dir.display())]
    OtherPlan {
        /// The folder.
        dir: PathBuf,
        /// Description of its data, from the marker.
        found: String,
        /// Description of the data planned.
        wanted: String,
    },
    /// The folder holds entries that no fill has made, so nothing in it is removed or written.
    #[error("fill {}: it holds {}, which no fill has made", dir.display(), entry.display())]
    NotOurs {
        /// The folder.
        dir: PathBuf,
        /// The first such entry.
        entry: PathBuf,
    },
    /// Another process is filling the same folder.
    #[error("fill {}: another process is filling it", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The disk is full.
    #[error("write {}: the disk is full", path.display())]
    DiskFull {
        /// The file being written.
        path: PathBuf,
    },
    /// A file or folder could not be read, written or removed.
    #[error("{attempt} {}", path.display())]
    File {
        /// The operation.
        attempt: &'static str,
        /// Its file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A store refused rows.
    #[error("store rows in {}", path.display())]
    Store {
        /// The store's file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: StoreError,
    },
    /// The marker is malformed.
    #[error("understand the marker {}", path.display())]
    Marker {
        /// The marker's file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: serde_json::Error,
    },
    /// The pictures cannot be made.
    #[error("make the pictures")]
    Pictures(#[from] barograph_data::pictures::PicturesError),
    /// The caller stopped the fill; its data have no marker and are removed by the next fill.
    #[error("finish the fill: it was stopped")]
    Stopped,
}

impl FillError {
    /// Converts the error of a file operation; a full disk has its own variant.
    pub(super) fn file(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |why| match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::File { attempt, path: path.to_owned(), why },
        }
    }

    /// Converts the error of a store.
    pub(super) fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        move |why| {
            if barograph_store_sqlite::is_full(&why) {
                return Self::DiskFull { path: path.to_owned() };
            }
            Self::Store { path: path.to_owned(), why }
        }
    }
}
