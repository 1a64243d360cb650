//! The files of a database: the filled file, which is never changed, and its copy for a run.

use std::fs::File;
use std::io::Read as _;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{SqliteError, fill};
use crate::Contents;

/// The first bytes of a SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Bytes of the header up to the end of the application id.
const HEADER: usize = 72;

/// The files of a database, locked for one run.
#[derive(Debug)]
pub struct Files<C> {
    /// The filled file.
    filled: PathBuf,
    _lock: File,
    _of: PhantomData<fn(C)>,
}

/// The result of a fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillResult {
    /// The file was filled before.
    pub reused: bool,
    /// Loaded rows, by name of the table.
    pub rows: Vec<(String, u64)>,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The contents of a marker.
#[derive(Debug)]
struct Marker {
    stamp: String,
    rows: Vec<(String, u64)>,
}

impl<C: Contents> Files<C> {
    /// Locks the files of a database. Dropping it unlocks them.
    ///
    /// # Errors
    /// Another run uses them, or the folder cannot be made.
    pub fn take(filled: &Path) -> Result<Self, SqliteError> {
        if let Some(folder) = filled.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(SqliteError::file("make the folder", folder))?;
        }
        let path = beside(filled, ".lock");
        let lock = File::create(&path).map_err(SqliteError::file("make", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Files { filled: filled.to_owned(), _lock: lock, _of: PhantomData }),
            Err(std::fs::TryLockError::WouldBlock) => Err(SqliteError::InUse { path: filled.to_owned() }),
            Err(std::fs::TryLockError::Error(why)) => Err(SqliteError::file("lock", &path)(why)),
        }
    }

    /// The copy for a run.
    pub fn copy(filled: &Path) -> PathBuf {
        beside(filled, ".run")
    }

    /// Fills the database, unless it is filled. `told` is called with a table and the number of rows inserted since the last
    /// call; it stops the fill by returning false. After a stop, or an end of the process, the next fill goes on, and tells the
    /// rows that it has found first.
    ///
    /// # Errors
    /// A file with other contents, which is not changed; a full disk.
    pub fn fill(
        &self,
        contents: &C,
        told: impl FnMut(C::Table, u64) -> bool,
    ) -> Result<FillResult, SqliteError> {
        let path = &self.filled;
        if let Some(rows) = found(path, contents)? {
            return Ok(FillResult { reused: true, rows, bytes: length(path)? });
        }
        let part = beside(path, ".part");
        let found = if is_ours::<C>(&part) { fill::done(&part, contents).ok() } else { None };
        let done = found.unwrap_or_default();
        if done.is_empty() {
            remove::<C>(&part)?;
        }
        match fill::fill(&part, contents, &done, told) {
            Err(why) if !matches!(why, SqliteError::Stopped) => {
                // What cannot be removed is replaced by the next fill.
                let _ = remove::<C>(&part);
                return Err(why);
            }
            filled => filled?,
        }
        std::fs::rename(&part, path).map_err(SqliteError::file("rename", &part))?;
        let marker = marker(path).map_err(SqliteError::sqlite("read", path))?;
        let rows = marker.map_or_else(Vec::new, |marker| marker.rows);
        Ok(FillResult { reused: false, rows, bytes: length(path)? })
    }

    /// Copies the filled file for a run.
    ///
    /// # Errors
    /// A file with other contents in place of the copy; a full disk.
    pub fn reset(&self) -> Result<PathBuf, SqliteError> {
        let copy = Self::copy(&self.filled);
        remove::<C>(&copy)?;
        std::fs::copy(&self.filled, &copy).map_err(SqliteError::file("make", &copy))?;
        let wal = || Connection::open(&copy)?.execute_batch("PRAGMA journal_mode=WAL");
        wal().map_err(SqliteError::sqlite("open", &copy))?;
        // Otherwise the system would write it back during the load.
        let whole = File::open(&copy).and_then(|file| file.sync_all());
        whole.map_err(SqliteError::file("write all of", &copy))?;
        Ok(copy)
    }

    /// Removes the copy of a run.
    ///
    /// # Errors
    /// The system refused.
    pub fn remove_copy(filled: &Path) -> Result<(), SqliteError> {
        remove::<C>(&Self::copy(filled))
    }
}

/// A file beside another.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn length(path: &Path) -> Result<u64, SqliteError> {
    std::fs::metadata(path).map(|meta| meta.len()).map_err(SqliteError::file("read", path))
}

/// The loaded rows in a file with these contents, by name of the table; `None` without a file.
///
/// # Errors
/// Other contents.
pub fn found<C: Contents>(path: &Path, contents: &C) -> Result<Option<Vec<(String, u64)>>, SqliteError> {
    if !path.exists() {
        return Ok(None);
    }
    if !is_ours::<C>(path) {
        return Err(foreign::<C>(path));
    }
    let marker = marker(path).map_err(SqliteError::sqlite("read", path))?;
    let marker = marker.ok_or_else(|| foreign::<C>(path))?;
    if marker.stamp == contents.stamp() {
        return Ok(Some(marker.rows));
    }
    let why = format!("was filled otherwise: {}", marker.stamp);
    Err(SqliteError::NotOurs { path: path.to_owned(), why })
}

/// The error of a file of something else.
fn foreign<C: Contents>(path: &Path) -> SqliteError {
    let why = format!("holds something else than {}", C::KIND);
    SqliteError::NotOurs { path: path.to_owned(), why }
}

/// Whether the header of a file has the mark of the workload. It is read directly: SQLite would change a file of something else
/// that has a journal.
fn is_ours<C: Contents>(path: &Path) -> bool {
    let mut header = [0; HEADER];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.starts_with(MAGIC) && header[HEADER - 4..] == C::APPLICATION_ID.to_be_bytes()
}

/// The marker of a file; `None` for an unfinished one.
fn marker(path: &Path) -> rusqlite::Result<Option<Marker>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let is_there = "SELECT count(*) FROM sqlite_schema WHERE name = 'barograph_fill'";
    if connection.query_row(is_there, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let mut marker = None;
    let mut statement = connection.prepare("SELECT stamp, name, rows FROM barograph_fill ORDER BY rowid")?;
    let mut all = statement.query([])?;
    while let Some(row) = all.next()? {
        let stamp = row.get(0)?;
        let rows = (row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs());
        marker.get_or_insert(Marker { stamp, rows: Vec::new() }).rows.push(rows);
    }
    Ok(marker)
}

/// Removes a file of the workload with its journal, its log and the index of the log.
fn remove<C: Contents>(path: &Path) -> Result<(), SqliteError> {
    if length(path).is_ok_and(|bytes| bytes > 0) && !is_ours::<C>(path) {
        return Err(foreign::<C>(path));
    }
    for suffix in ["-journal", "-wal", "-shm", ""] {
        let path = beside(path, suffix);
        match std::fs::remove_file(&path) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                return Err(SqliteError::file("remove", &path)(why));
            }
            _ => {}
        }
    }
    Ok(())
}
