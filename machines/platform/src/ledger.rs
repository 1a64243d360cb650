//! The ledger: what is about to be created, was created, and was removed, one line of JSON each, written at once.
//!
//! "will" is written before a thing is created, "created" when it is there, "removed" when it is gone. Whatever has
//! no "removed" is left and must be swept, even when "created" is missing: the driver may have been killed in
//! between. A line that was cut off by a crash is counted and does no harm. The lines are not forced to the disk: a
//! machine that loses power has lost the processes too.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::Thing;

/// A ledger of one run has a few lines; what is larger is not a ledger, and must not fill the memory.
const LARGEST: u64 = 16 << 20;

/// The variable that processes carry, with all their children, which stand for an entry of a ledger: so they are found even
/// when the driver was killed between starting one and noting its number.
pub const MARK: &str = "BAROGRAPH_MARK";

/// A number that names a thing within its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entry(u64);

impl Entry {
    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A thing without "removed".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its entry, for [`Ledger::removed`].
    pub entry: Entry,
    /// What it is.
    pub thing: Thing,
}

/// The ledger could not be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// It could not be opened or read.
    #[error("open ledger `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process, or another handle of this one, holds it: the run it belongs to is still going on.
    #[error("ledger `{}` is in use by a run that goes on", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A line could not be added; what it announces must not be created.
    #[error("write ledger `{}`", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder could not be made.
    #[error("make folder `{}`", path.display())]
    MakeDirectory {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder could not be removed.
    #[error("remove folder `{}`", path.display())]
    RemoveDirectory {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Will { entry: Entry, thing: Thing },
    Created { entry: Entry, thing: Thing },
    Removed { entry: Entry },
}

#[derive(Debug)]
struct Inner {
    file: File,
    /// The file does not end with a line end: the next line must begin with one.
    cut: bool,
    next: u64,
    left: BTreeMap<Entry, Thing>,
    unreadable: usize,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// Its file goes with the last clone, when nothing is left by then.
    is_to_go: AtomicBool,
    inner: Mutex<Inner>,
}

/// An open ledger. Clones share it; while one lives, nobody else can open the same file.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
}

impl Ledger {
    /// Opens the ledger at `path`, or begins one, and locks it.
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
        let mut inner = Inner {
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
            shared: Arc::new(Shared { path, is_to_go: AtomicBool::new(false), inner: Mutex::new(inner) }),
        })
    }

    /// Where it is, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The value of [`MARK`] for the process that `entry` stands for.
    #[must_use]
    pub fn mark(&self, entry: Entry) -> String {
        format!("{}#{}", self.path().display(), entry.number())
    }

    /// Notes that `thing` is about to be created. Only when this succeeds it may be.
    pub fn will(&self, thing: Thing) -> Result<Entry, LedgerError> {
        let mut inner = self.inner();
        let entry = Entry(inner.next);
        self.append(&mut inner, Line::Will { entry, thing })?;
        Ok(entry)
    }

    /// Notes that the thing of `entry` is there; `thing` is now complete.
    pub fn done(&self, entry: Entry, thing: Thing) -> Result<(), LedgerError> {
        self.append(&mut self.inner(), Line::Created { entry, thing })
    }

    /// Notes that the thing of `entry` is gone, or never came to be.
    pub fn removed(&self, entry: Entry) -> Result<(), LedgerError> {
        self.append(&mut self.inner(), Line::Removed { entry })
    }

    /// What is still to be removed, newest first, so that a process goes before the folder it writes to.
    #[must_use]
    pub fn left(&self) -> Vec<Left> {
        let inner = self.inner();
        inner.left.iter().rev().map(|(&entry, thing)| Left { entry, thing: thing.clone() }).collect()
    }

    /// Whether somebody else of this process still has it: a task that removes what was given up, or a thread that makes
    /// something nobody waits for any more. Sweeping beside them removes what they are about to make or remove.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Removes the file when the last clone is dropped and nothing is left by then: a ledger that names nothing has done
    /// its work, but while somebody shares it, it may name something again.
    pub fn forget_when_empty(&self) {
        self.shared.is_to_go.store(true, Ordering::Relaxed);
    }

    /// Lines that could not be read: cut off by a crash, or written by a newer version.
    #[must_use]
    pub fn unreadable(&self) -> usize {
        self.inner().unreadable
    }

    /// Makes the folder `path` and notes it. A folder that is there already is refused: a sweep would remove it.
    pub fn make_directory(&self, path: &Path) -> Result<Entry, LedgerError> {
        let failed = |source| LedgerError::MakeDirectory { path: path.to_owned(), source };
        let absolute = std::path::absolute(path).map_err(failed)?;
        if std::fs::symlink_metadata(&absolute).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let thing = Thing::Directory { path: absolute.clone() };
        let entry = self.will(thing.clone())?;
        if let Err(source) = std::fs::create_dir(&absolute) {
            self.removed(entry)?;
            return Err(failed(source));
        }
        self.done(entry, thing)?;
        Ok(entry)
    }

    /// Removes the folder of `entry` with all that is in it and notes that. One that is gone already is fine, and so
    /// is an entry of something else, which stays as it is.
    pub fn remove_directory(&self, entry: Entry) -> Result<(), LedgerError> {
        let thing = self.inner().left.get(&entry).cloned();
        let Some(Thing::Directory { path }) = thing else { return Ok(()) };
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(LedgerError::RemoveDirectory { path, source })
            }
            _ => self.removed(entry),
        }
    }

    /// A panic elsewhere leaves the ledger as true as the file is: go on with it.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, inner: &mut Inner, line: Line) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::Append { path: self.shared.path.clone(), source };
        let mut bytes = if inner.cut { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut bytes, &line).map_err(|e| failed(e.into()))?;
        bytes.push(b'\n');
        let written = inner.file.write_all(&bytes);
        // After a failure nobody knows how much of the line is there (a full disk).
        inner.cut = written.is_err();
        written.map_err(failed)?;
        inner.take_in(line);
        Ok(())
    }
}

impl Drop for Shared {
    /// A child being started at this moment in another thread holds a copy of the file until it runs its program,
    /// so closing alone would not always free the ledger.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if *self.is_to_go.get_mut() && inner.left.is_empty() {
            // While it is still locked. What cannot be removed is harmless: whoever sweeps it finds nothing.
            let _ = std::fs::remove_file(&self.path);
        }
        // Nothing can be done about a failure here, and the end of the process frees the lock anyway.
        let _ = inner.file.unlock();
    }
}

impl Inner {
    fn take_in(&mut self, line: Line) {
        let entry = match line {
            Line::Will { entry, thing } => {
                self.left.insert(entry, thing);
                entry
            }
            // Also without a readable "will": a thing that is there must go.
            Line::Created { entry, thing } => {
                self.left.insert(entry, thing);
                entry
            }
            Line::Removed { entry } => {
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
