//! The folder of temporary files of tests: in memory where there is enough of it.
//!
//! Tests make and remove thousands of small files and flush what databases write, which costs a file system on a disk a sixth
//! of all processor time. What tests look at are files, not disks.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// A file system in memory that every Linux has.
const MEMORY: &str = "/dev/shm";

/// Its path is short, as the addresses of the Unix sockets below it must be.
const NAME: &str = "bg";

/// Eight tests at once have a few databases of 100 MB, and guests' disks.
const NEEDED_BYTES: u64 = 6 << 30;

/// A folder that is empty when it is made, and removed when it is dropped.
pub(super) struct Temporary {
    path: PathBuf,
    /// Held while the folder is used; a folder without a lock was left by a run that was killed.
    _lock: File,
}

impl Temporary {
    /// `None` where there is no memory for it, or where other tests run in it.
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
        // There is none, as a rule.
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
        // What cannot be removed is removed by the next run.
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
