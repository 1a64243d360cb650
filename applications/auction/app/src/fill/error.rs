//! Why a fill could not be done.

use barograph_auction_store::StoreError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a fill could not be done; each message completes "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The folder holds the data of another plan, which are left as they are.
    #[error("reuse the data in {}: they are {found}, and {wanted} are wanted; choose another folder or remove it", dir.display())]
    OtherPlan {
        /// The folder.
        dir: PathBuf,
        /// What the marker in it says.
        found: String,
        /// What the plan says.
        wanted: String,
    },
    /// The folder holds something that no fill has made, so nothing in it is removed or written.
    #[error("fill {}: it holds {}, which no fill has made", dir.display(), entry.display())]
    NotOurs {
        /// The folder.
        dir: PathBuf,
        /// The first strange thing in it.
        entry: PathBuf,
    },
    /// Another process is filling the same folder.
    #[error("fill {}: another process is filling it", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// There is no room left.
    #[error("write {}: the disk is full", path.display())]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// A file or folder could not be read, written or removed.
    #[error("{attempt} {}", path.display())]
    File {
        /// What was attempted.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A store refused rows.
    #[error("store rows in {}", path.display())]
    Store {
        /// The store's file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: StoreError,
    },
    /// The marker cannot be understood.
    #[error("understand the marker {}", path.display())]
    Marker {
        /// The marker's file.
        path: PathBuf,
        /// Why not.
        #[source]
        why: serde_json::Error,
    },
    /// The pictures cannot be made.
    #[error("make the pictures")]
    Pictures(#[from] barograph_data::pictures::PicturesError),
    /// The caller asked the fill to stop; what it made so far has no marker and is removed by the next fill.
    #[error("finish the fill: it was stopped")]
    Stopped,
}

impl FillError {
    /// Turns a failed file operation into the error that says so; a full disk gets its own.
    pub(super) fn file(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |why| match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::File { attempt, path: path.to_owned(), why },
        }
    }

    /// The same for a store.
    pub(super) fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        move |why| {
            if barograph_store_sqlite::is_full(&why) {
                return Self::DiskFull { path: path.to_owned() };
            }
            Self::Store { path: path.to_owned(), why }
        }
    }
}
