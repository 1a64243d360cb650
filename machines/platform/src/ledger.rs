//! The ledger: things about to be created, created, and removed, one line of JSON each, written at once.
//!
//! "will" is written before a thing is created, "created" when it exists, "removed" when it is gone. A thing
//! without "removed" is left over and must be swept, even without "created": the driver may have been killed
//! in between. A line truncated by a crash is counted and does no harm. Lines are not synced to disk: a
//! machine that loses power has lost the processes too.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::Resource;

/// Largest ledger in bytes. A ledger of one run has a few lines; a larger file is not a ledger, and must not
/// fill the memory.
const LARGEST: u64 = 16 << 20;

/// Environment variable that links processes, with all their children, to an entry of a ledger. They are
/// found by it even if the driver was killed between starting a process and recording its number.
pub const MARK: &str = "BAROGRAPH_MARK";

/// Number of a thing within its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entry(u64);

impl Entry {
    /// Returns the number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A thing without "removed".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Entry of the thing, for [`Ledger::removed`].
    pub entry: Entry,
    /// The thing.
    pub thing: Resource,
}

/// A failure of the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// It could not be opened or read.
    #[error("open ledger `{}`", path.display())]
    Open {
        /// Path of the ledger.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Another process, or another handle of this one, holds it: its run is still live.
    #[error("ledger `{}` is in use by a run that goes on", path.display())]
    InUse {
        /// Path of the ledger.
        path: PathBuf,
    },
    /// A line could not be appended; the thing it announces must not be created.
    #[error("write ledger `{}`", path.display())]
    Append {
        /// Path of the ledger.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A folder could not be created.
    #[error("make folder `{}`", path.display())]
    MakeDirectory {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A folder could not be removed.
    #[error("remove folder `{}`", path.display())]
    RemoveDirectory {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum LedgerLine {
    Will { entry: Entry, thing: Resource },
    Created { entry: Entry, thing: Resource },
    Removed { entry: Entry },
}

#[derive(Debug)]
struct LedgerState {
    file: File,
    /// Whether the file does not end with a line end, so that the next line must begin with one.
    cut: bool,
    next: u64,
    left: BTreeMap<Entry, Resource>,
    unreadable: usize,
}

#[derive(Debug)]
struct SharedLedger {
    path: PathBuf,
    /// Whether the file is removed with the last clone, if nothing is left by then.
    is_to_go: AtomicBool,
    inner: Mutex<LedgerState>,
}

/// An open ledger. Clones share it; while one lives, the file cannot be opened again.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<SharedLedger>,
}

impl Ledger {
    /// Opens or creates the ledger at `path`, and locks it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref().to_owned();
        let failed = |source| LedgerError::Open { path: path.clone(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let path = path.canonicalize().map_err(failed)?;
        let mut bytes = Vec::new();
        let length = (&mut file).take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if length as u64 > LARGEST {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let mut inner = LedgerState {
            file,
            cut: bytes.last().is_some_and(|b| *b != b'\n'),
            next: 0,
            left: BTreeMap::new(),
            unreadable: 0,
        };
        for line in bytes.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()) {
            match serde_json::from_slice(line) {
                Ok(line) => inner.take_in(line),
                Err(_) => inner.unreadable += 1,
            }
        }
        Ok(Ledger {
            shared: Arc::new(SharedLedger {
                path,
                is_to_go: AtomicBool::new(false),
                inner: Mutex::new(inner),
            }),
        })
    }

    /// Returns its absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Returns the value of [`MARK`] for the process of `entry`.
    #[must_use]
    pub fn mark(&self, entry: Entry) -> String {
        format!("{}#{}", self.path().display(), entry.number())
    }

    /// Records that `thing` is about to be created. It may be created only if this succeeds.
    pub fn will(&self, thing: Resource) -> Result<Entry, LedgerError> {
        let mut inner = self.inner();
        let entry = Entry(inner.next);
        self.append(&mut inner, LedgerLine::Will { entry, thing })?;
        Ok(entry)
    }

    /// Records that the thing of `entry` exists; `thing` is now complete.
    pub fn done(&self, entry: Entry, thing: Resource) -> Result<(), LedgerError> {
        self.append(&mut self.inner(), LedgerLine::Created { entry, thing })
    }

    /// Records that the thing of `entry` is gone, or was never created.
    pub fn removed(&self, entry: Entry) -> Result<(), LedgerError> {
        self.append(&mut self.inner(), LedgerLine::Removed { entry })
    }

    /// Returns the things to be removed, newest first, so that a process precedes the folder it writes to.
    #[must_use]
    pub fn left(&self) -> Vec<Leftover> {
        let inner = self.inner();
        inner.left.iter().rev().map(|(&entry, thing)| Leftover { entry, thing: thing.clone() }).collect()
    }

    /// Whether another part of this process still holds it: a task that removes abandoned things, or a thread
    /// that creates things after its caller gave up. A sweep at the same time would remove things that they
    /// are about to use.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Removes the file when the last clone is dropped, if nothing is left by then. An empty ledger has no
    /// further use, but other holders may still add to it.
    pub fn forget_when_empty(&self) {
        self.shared.is_to_go.store(true, Ordering::Relaxed);
    }

    /// Returns the number of unreadable lines: truncated by a crash, or written by a later version.
    #[must_use]
    pub fn unreadable(&self) -> usize {
        self.inner().unreadable
    }

    /// Creates the folder `path` and records it. An existing folder is refused, because a sweep would remove
    /// it.
    pub fn make_directory(&self, path: &Path) -> Result<Entry, LedgerError> {
        let failed = |source| LedgerError::MakeDirectory { path: path.to_owned(), source };
        let absolute = std::path::absolute(path).map_err(failed)?;
        if std::fs::symlink_metadata(&absolute).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let thing = Resource::Directory { path: absolute.clone() };
        let entry = self.will(thing.clone())?;
        if let Err(source) = std::fs::create_dir(&absolute) {
            self.removed(entry)?;
            return Err(failed(source));
        }
        self.done(entry, thing)?;
        Ok(entry)
    }

    /// Removes the folder of `entry` with its content and records that. Succeeds if it is gone already. An
    /// entry of another kind is left as it is.
    pub fn remove_directory(&self, entry: Entry) -> Result<(), LedgerError> {
        let thing = self.inner().left.get(&entry).cloned();
        let Some(Resource::Directory { path }) = thing else { return Ok(()) };
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(LedgerError::RemoveDirectory { path, source })
            }
            _ => self.removed(entry),
        }
    }

    /// A panic elsewhere leaves the ledger as valid as its file, so it is used further.
    fn inner(&self) -> MutexGuard<'_, LedgerState> {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, inner: &mut LedgerState, line: LedgerLine) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::Append { path: self.shared.path.clone(), source };
        let mut bytes = if inner.cut { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut bytes, &line).map_err(|e| failed(e.into()))?;
        bytes.push(b'\n');
        let written = inner.file.write_all(&bytes);
        // After a failure an unknown part of the line is written (a full disk).
        inner.cut = written.is_err();
        written.map_err(failed)?;
        inner.take_in(line);
        Ok(())
    }
}

impl Drop for SharedLedger {
    /// A child being started by another thread holds a copy of the file until it executes its program, so
    /// closing alone would not always release the lock.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if *self.is_to_go.get_mut() && inner.left.is_empty() {
            // While it is still locked. A file that cannot be removed is harmless: a sweep finds nothing in
            // it.
            let _ = std::fs::remove_file(&self.path);
        }
        // A failure here cannot be handled, and the end of the process releases the lock.
        let _ = inner.file.unlock();
    }
}

impl LedgerState {
    fn take_in(&mut self, line: LedgerLine) {
        let entry = match line {
            LedgerLine::Will { entry, thing } => {
                self.left.insert(entry, thing);
                entry
            }
            // Even without a readable "will": an existing thing must be removed.
            LedgerLine::Created { entry, thing } => {
                self.left.insert(entry, thing);
                entry
            }
            LedgerLine::Removed { entry } => {
                self.left.remove(&entry);
                entry
            }
        };
        self.next = self.next.max(entry.0.saturating_add(1));
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
