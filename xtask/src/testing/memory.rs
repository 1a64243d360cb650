//! The folder of temporary files of tests: in memory if there is enough.
//!
//! Tests make and remove thousands of small files and flush the writes of databases, which costs a file
//! system on a disk a sixth of all processor time. Tests are about files, not disks.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The memory file system of every Linux.
const MEMORY: &str = "/dev/shm";

/// A short name, since the addresses of the Unix sockets below it must be short.
const NAME: &str = "bg";

/// Memory required: eight tests at once have a few databases of 100 MB, and guests' disks.
const NEEDED_BYTES: u64 = 6 << 30;

/// A folder, empty at first, and removed when it is dropped.
pub(super) struct Temporary {
    path: PathBuf,
    /// Held while the folder is used; a folder without a lock was left by a killed run.
    _lock: File,
}

impl Temporary {
    /// Makes it; `None` without enough memory, or if other tests use it.
    pub(super) fn make() -> Option<Self> {
        let found = rustix::fs::statvfs(MEMORY).ok()?;
        if found.f_bavail * found.f_frsize < NEEDED_BYTES {
            return None;
        }
        Self::below(Path::new(MEMORY))
    }

    fn below(folder: &Path) -> Option<Self> {
        let path = folder.join(NAME);
        let lock = File::create(folder.join(format!("{NAME}.lock"))).ok()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
        }
        // Usually there is none.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).ok()?;
        Some(Temporary { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The next run removes the rest.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_empty_has_one_user_and_is_removed() {
        let memory = tempfile::tempdir().unwrap();
        let left = memory.path().join("bg/left");
        fs::create_dir_all(&left).unwrap();
        let folder = Temporary::below(memory.path()).unwrap();
        assert!(folder.path().is_dir() && !left.exists());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(Temporary::below(memory.path()).is_none(), "another run has it");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        assert!(Temporary::below(memory.path()).is_some());
        assert!(Temporary::below(&memory.path().join("nowhere")).is_none());
    }
}
