//! The file that a load goes to: filled and copied before it, checked after it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Files, FillResult, Queries, SqliteError, check, found};
use crate::{Contents, Findings};

/// The scheme of addresses of SQLite files.
const SCHEME: &str = "sqlite://";

/// The file of an address; `None` for an address of another kind.
#[must_use]
pub fn file_of(url: &str) -> Option<&Path> {
    url.strip_prefix(SCHEME).map(Path::new).filter(|path| path.is_absolute())
}

/// The address of a file.
#[must_use]
pub fn address(file: &Path) -> String {
    format!("{SCHEME}{}", file.display())
}

/// Durability in words.
#[must_use]
pub fn durability(is_durable: bool) -> &'static str {
    match is_durable {
        true => "WAL, synchronous=FULL: a commit is on the disk before it is done",
        false => "WAL, synchronous=OFF: commits survive the process, the last may be lost with the machine",
    }
}

/// Stops a fill on another thread when it is dropped.
#[derive(Debug, Default)]
pub struct StopAtEnd(Arc<AtomicBool>);

impl StopAtEnd {
    /// The flag for the other thread.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The file that a load goes to, locked from the fill on. All calls block.
#[derive(Debug)]
pub struct Target<C> {
    file: PathBuf,
    contents: C,
    locked: Arc<Mutex<Option<Files<C>>>>,
}

impl<C: Clone> Clone for Target<C> {
    fn clone(&self) -> Self {
        let Target { file, contents, locked } = self;
        Target { file: file.clone(), contents: contents.clone(), locked: Arc::clone(locked) }
    }
}

impl<C: Contents> Target<C> {
    /// The file with these contents.
    pub fn new(file: PathBuf, contents: C) -> Self {
        Target { file, contents, locked: Arc::default() }
    }

    /// The filled file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its contents.
    pub fn contents(&self) -> &C {
        &self.contents
    }

    /// Whether the file is used as it is.
    fn is_used(&self) -> bool {
        self.contents.tables().is_empty()
    }

    /// The file of a run: the copy, or the file itself where it is used as it is.
    pub fn copy(&self) -> PathBuf {
        if self.is_used() { self.file.clone() } else { Files::<C>::copy(&self.file) }
    }

    /// The loaded rows, if the file is there.
    ///
    /// # Errors
    /// Other contents.
    pub fn found(&self) -> Result<Option<Vec<(String, u64)>>, SqliteError> {
        if self.is_used() {
            return Ok(None);
        }
        found(&self.file, &self.contents)
    }

    /// Locks the file, fills it unless it is filled, and copies it for the run; a file that is used as it is stays. `told` is as for [`Files::fill`].
    ///
    /// # Errors
    /// As [`Files::take`], [`Files::fill`] and [`Files::reset`].
    pub fn prepare(&self, told: impl FnMut(C::Table, u64) -> bool) -> Result<FillResult, SqliteError> {
        if self.is_used() {
            let bytes = std::fs::metadata(&self.file).map_err(SqliteError::file("read", &self.file))?.len();
            return Ok(FillResult { reused: true, rows: Vec::new(), bytes });
        }
        let files = Files::take(&self.file)?;
        let filled = files.fill(&self.contents, told)?;
        files.reset()?;
        *self.locked.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
        Ok(filled)
    }

    /// Checks the copy. It stays for inspection if a check fails, and is removed otherwise.
    ///
    /// # Errors
    /// SQLite or the system refused.
    pub fn verify(
        &self,
        checks: impl FnOnce(&mut Queries) -> rusqlite::Result<Findings>,
    ) -> Result<Findings, SqliteError> {
        let checked = check(&self.copy(), checks)?;
        if checked.violations.is_empty() && !self.is_used() {
            Files::<C>::remove_copy(&self.file)?;
        }
        Ok(checked)
    }
}
