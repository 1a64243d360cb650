//! The files of a database: the filled file, which is never changed, and its copy for a run.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::{SqliteError, fill, schema};
use crate::generate::Generator;
use crate::tables::{Size, Table};

/// The first bytes of a SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Bytes of the header up to the end of the application id.
const HEADER: usize = 72;

/// The files of a database, locked for one run.
#[derive(Debug)]
pub(crate) struct Files {
    /// The filled file.
    filled: PathBuf,
    _lock: File,
}

/// The result of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillResult {
    /// The file was filled before.
    pub(crate) reused: bool,
    /// Rows of order lines.
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// The contents of a marker.
#[derive(Debug, PartialEq)]
struct Marker {
    version: u32,
    size: Size,
    seed: String,
    lines: u64,
}

impl Files {
    /// Locks the files of a database. Dropping it unlocks them.
    ///
    /// # Errors
    /// Another run uses them, or the folder cannot be made.
    pub(crate) fn take(filled: &Path) -> Result<Self, SqliteError> {
        if let Some(folder) = filled.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(SqliteError::file("make the folder", folder))?;
        }
        let path = beside(filled, ".lock");
        let lock = File::create(&path).map_err(SqliteError::file("make", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Files { filled: filled.to_owned(), _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => Err(SqliteError::InUse { path: filled.to_owned() }),
            Err(std::fs::TryLockError::Error(why)) => Err(SqliteError::file("lock", &path)(why)),
        }
    }

    /// The copy for a run.
    pub(crate) fn copy(filled: &Path) -> PathBuf {
        beside(filled, ".run")
    }

    /// Fills the database, unless it is filled. `told` is called with a table and the number of rows inserted since the last
    /// call; it stops the fill by returning false.
    ///
    /// # Errors
    /// A file with other contents, which is not changed; a full disk.
    pub(crate) fn fill(
        &self,
        generator: &Generator,
        told: impl FnMut(Table, u64) -> bool,
    ) -> Result<FillResult, SqliteError> {
        if let Some(lines) = found(&self.filled, generator)? {
            return Ok(FillResult { reused: true, lines, bytes: length(&self.filled)? });
        }
        let part = beside(&self.filled, ".part");
        remove(&part)?;
        if let Err(why) = fill::fill(&part, generator, told) {
            // What cannot be removed is replaced by the next fill.
            let _ = remove(&part);
            return Err(why);
        }
        std::fs::rename(&part, &self.filled).map_err(SqliteError::file("rename", &part))?;
        let lines = marker(&self.filled).map_err(SqliteError::sqlite("read", &self.filled))?;
        let lines = lines.map_or(0, |marker| marker.lines);
        Ok(FillResult { reused: false, lines, bytes: length(&self.filled)? })
    }

    /// Copies the filled file for a run.
    ///
    /// # Errors
    /// A file with other contents in place of the copy; a full disk.
    pub(crate) fn reset(&self) -> Result<PathBuf, SqliteError> {
        let copy = Files::copy(&self.filled);
        remove(&copy)?;
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
    pub(crate) fn remove_copy(filled: &Path) -> Result<(), SqliteError> {
        remove(&Files::copy(filled))
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

/// The number of loaded order lines in the file of this database; `None` without a file.
///
/// # Errors
/// Other contents.
pub(crate) fn found(path: &Path, generator: &Generator) -> Result<Option<u64>, SqliteError> {
    if !path.exists() {
        return Ok(None);
    }
    let other = |why: String| SqliteError::NotOurs { path: path.to_owned(), why };
    let foreign = || other("holds something else than an Order-Entry database".to_owned());
    if !is_ours(path) {
        return Err(foreign());
    }
    let marker = marker(path).map_err(SqliteError::sqlite("read", path))?.ok_or_else(foreign)?;
    let (size, seed) = (generator.size, generator.seed.to_string());
    let wanted = Marker { version: crate::VERSION, size, seed, lines: marker.lines };
    if marker == wanted {
        return Ok(Some(marker.lines));
    }
    let Marker { version, size: Size { warehouses, scale, .. }, seed, .. } = marker;
    Err(other(format!(
        "was filled otherwise: warehouses = {warehouses}, scale = {scale}, seed = {seed}, version {version} of the workload"
    )))
}

/// Whether the header of a file has the mark of this workload. SQLite cannot open the file of an interrupted fill, so the header
/// is read directly.
fn is_ours(path: &Path) -> bool {
    let mut header = [0; HEADER];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.starts_with(MAGIC) && header[HEADER - 4..] == schema::APPLICATION_ID.to_be_bytes()
}

/// The marker of a file; `None` after an interrupted fill.
fn marker(path: &Path) -> rusqlite::Result<Option<Marker>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let is_there = "SELECT count(*) FROM sqlite_schema WHERE name = 'barograph_marker'";
    if connection.query_row(is_there, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let sql = "SELECT version, warehouses, scale, seed, lines FROM barograph_marker";
    let marker = connection.query_row(sql, [], |row| {
        let size = Size::new(row.get(1)?, row.get(2)?);
        let lines: i64 = row.get(4)?;
        Ok(Marker { version: row.get(0)?, size, seed: row.get(3)?, lines: lines.unsigned_abs() })
    });
    marker.optional()
}

/// Removes a file of this workload with its log and index of the log.
fn remove(path: &Path) -> Result<(), SqliteError> {
    if length(path).is_ok_and(|bytes| bytes > 0) && !is_ours(path) {
        let why = "holds something else than an Order-Entry database".to_owned();
        return Err(SqliteError::NotOurs { path: path.to_owned(), why });
    }
    for suffix in ["-wal", "-shm", ""] {
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
