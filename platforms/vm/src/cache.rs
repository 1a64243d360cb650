//! Cache shared by runs. Things are made under another name and then renamed, so that a name always means a
//! complete one.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{Entry, Fault, Ledger};
use tokio::time::sleep;

use crate::clock::{now, time_of_day};
use crate::host_commands::failed;

/// Longest wait for the lock: another run may be making the image of a large machine.
const LOCK_WAIT: Duration = Duration::from_secs(600);

/// Time after which an unused image is removed: images change with the machine's programs and with the
/// folders of sites.
const KEPT: Duration = Duration::from_secs(900);

/// Interval between attempts to lock a busy cache.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The cache, locked against changes by others.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    ledger: Ledger,
    _lock: File,
}

/// A folder that is removed when dropped. That of a killed run is swept.
#[derive(Debug)]
pub(crate) struct NotedFolder {
    path: PathBuf,
    ledger: Ledger,
    entry: Entry,
}

/// Folder in which something is being made.
#[derive(Debug)]
pub(crate) struct BuildFolder<'a> {
    cache: &'a Cache,
    folder: NotedFolder,
}

impl Cache {
    /// Opens the cache, and waits while another run changes it.
    pub(crate) async fn open(folder: &Path, ledger: &Ledger) -> Result<Cache, Fault> {
        let act = || format!("use the cache `{}`", folder.display());
        std::fs::create_dir_all(folder).map_err(|error| failed(act(), error))?;
        let file = File::options().create(true).append(true).open(folder.join("lock"));
        let file = file.map_err(|error| failed(act(), error))?;
        let deadline = now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Cache { folder: folder.to_owned(), ledger: ledger.clone(), _lock: file });
                }
                Err(TryLockError::WouldBlock) if now() < deadline => sleep(LOOK_EVERY).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(failed(act(), io::Error::from(io::ErrorKind::TimedOut)));
                }
                Err(TryLockError::Error(error)) => return Err(failed(act(), error)),
            }
        }
    }

    /// Returns the path of a thing of this name, existing or not.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins to make something.
    pub(crate) fn build(&self, what: &str) -> Result<BuildFolder<'_>, Fault> {
        let folder = self.note(&format!("making-{what}-{}", std::process::id()))?;
        Ok(BuildFolder { cache: self, folder })
    }

    /// Makes a folder for hard links to things that a site uses, so that they remain if they are removed
    /// here.
    pub(crate) fn uses(&self, site: &str) -> Result<NotedFolder, Fault> {
        self.note(&format!("used-by-{site}-{}", std::process::id()))
    }

    fn note(&self, name: &str) -> Result<NotedFolder, Fault> {
        NotedFolder::make(self.folder.join(name), &self.ledger)
    }

    /// Marks a thing as used, and removes those of the same kind that were not used for long.
    pub(crate) fn refresh(&self, prefix: &str, name: &str) -> io::Result<()> {
        File::open(self.path(name))?.set_modified(time_of_day())?;
        for item in std::fs::read_dir(&self.folder)? {
            let item = item?;
            let is_old = item.metadata()?.modified()?.elapsed().is_ok_and(|age| age > KEPT);
            if is_old && item.file_name().to_string_lossy().starts_with(prefix) {
                // A guest that has it open keeps it.
                std::fs::remove_file(item.path())?;
            }
        }
        Ok(())
    }
}

impl NotedFolder {
    /// Creates the folder.
    pub(crate) fn make(path: PathBuf, ledger: &Ledger) -> Result<NotedFolder, Fault> {
        let act = || format!("make folder `{}`", path.display());
        let entry = ledger.make_directory(&path).map_err(|error| failed(act(), error))?;
        Ok(NotedFolder { path, ledger: ledger.clone(), entry })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a hard link to a file of the cache.
    pub(crate) fn link(&self, file: &Path) -> Result<PathBuf, Fault> {
        let act = || format!("give `{}` a second name", file.display());
        let name =
            file.file_name().ok_or_else(|| failed(act(), io::Error::from(io::ErrorKind::InvalidInput)))?;
        let to = self.path.join(name);
        std::fs::hard_link(file, &to).map_err(|error| failed(act(), error))?;
        Ok(to)
    }
}

impl Drop for NotedFolder {
    fn drop(&mut self) {
        // A folder that stays is in the ledger, and is swept.
        let _ = self.ledger.remove_directory(self.entry);
    }
}

impl BuildFolder<'_> {
    pub(crate) fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Gives a made thing its name, and removes its folder.
    pub(crate) fn finish(self, made: &Path, name: &str) -> Result<PathBuf, Fault> {
        let to = self.cache.path(name);
        std::fs::rename(made, &to)
            .map_err(|error| failed(format!("keep `{}` in the cache", to.display()), error))?;
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[tokio::test]
    async fn what_is_made_gets_its_name_at_the_end_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
        let cache = Cache::open(&folder.path().join("cache"), &ledger).await.unwrap();
        let building = cache.build("x").unwrap();
        let (made, beside) = (building.path().join("a"), building.path().to_owned());
        std::fs::write(&made, "1").unwrap();
        assert_eq!(ledger.left().len(), 1);
        let kept = building.finish(&made, "x-1").unwrap();
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "1");
        assert!(!beside.exists() && ledger.left().is_empty());
        drop(cache.build("y").unwrap());
        assert!(ledger.left().is_empty());
        let uses = cache.uses("s").unwrap();
        let second = uses.link(&cache.path("x-1")).unwrap();
        std::fs::write(cache.path("x-2"), "2").unwrap();
        cache.refresh("x-", "x-2").unwrap();
        assert!(cache.path("x-1").exists(), "it was used not long ago");
        let long_ago = SystemTime::now() - KEPT * 2;
        File::open(cache.path("x-1")).unwrap().set_modified(long_ago).unwrap();
        cache.refresh("x-", "x-2").unwrap();
        assert!(!cache.path("x-1").exists() && cache.path("x-2").exists());
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "1", "who uses it has it still");
        drop(uses);
        assert!(!second.exists() && ledger.left().is_empty());
    }
}
