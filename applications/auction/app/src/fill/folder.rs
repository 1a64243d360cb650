//! The folder of a fill: exclusive access, contents, and removal of the remains of a broken fill.

use super::FillError;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// File that a fill locks in its folder.
const LOCK: &str = "fill.lock";
/// Entries that a fill makes in its folder.
const OURS: [&str; 5] = ["pristine", "images", "marker.json", "marker.json.part", LOCK];

/// A folder locked for this process until the value is dropped.
#[derive(Debug)]
pub(super) struct FillFolder {
    dir: PathBuf,
    _lock: File,
}

impl FillFolder {
    /// Creates the folder if need be and locks it. The system releases the lock when the process ends for any
    /// reason.
    pub(super) fn take(dir: &Path) -> Result<Self, FillError> {
        std::fs::create_dir_all(dir).map_err(FillError::file("make folder", dir))?;
        let entries = std::fs::read_dir(dir).map_err(FillError::file("look into", dir))?;
        for entry in entries {
            let entry = entry.map_err(FillError::file("look into", dir))?;
            if !OURS.iter().any(|ours| entry.file_name() == *ours) {
                return Err(FillError::NotOurs { dir: dir.to_owned(), entry: entry.file_name().into() });
            }
        }
        let path = dir.join(LOCK);
        let lock = File::create(&path).map_err(FillError::file("make", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir: dir.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FillError::Busy { dir: dir.to_owned() }),
            Err(TryLockError::Error(why)) => Err(FillError::file("lock", &path)(why)),
        }
    }

    /// Removes the remains of an unfinished fill, and makes the sub-folder of the stores.
    pub(super) fn empty(&self) -> Result<(), FillError> {
        for name in ["images", "pristine"] {
            let path = self.dir.join(name);
            match std::fs::remove_dir_all(&path) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FillError::file("remove", &path)(why));
                }
                _ => {}
            }
        }
        let path = self.stores();
        std::fs::create_dir(&path).map_err(FillError::file("make folder", &path))
    }

    pub(super) fn stores(&self) -> PathBuf {
        self.dir.join("pristine")
    }

    pub(super) fn images(&self) -> PathBuf {
        self.dir.join("images")
    }

    /// Waits until all data are on the disk, so that a run does not compete with the last writes of the fill,
    /// and a complete marker never stands beside lost files.
    pub(super) fn flush(&self) -> Result<(), FillError> {
        let flush = || rustix::fs::syncfs(File::open(&self.dir)?).map_err(std::io::Error::from);
        flush().map_err(FillError::file("flush", &self.dir))
    }
}
