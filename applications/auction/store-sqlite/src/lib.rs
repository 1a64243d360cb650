//! The embedded stores of the auction application: two SQLite files, each with one writer thread and a pool
//! of readers.
//!
//! A start copies the pristine files of a fill into the state folder, so a run never wears the filled data
//! away and a reset is a restart. Both files are in WAL mode with `synchronous=NORMAL`: a commit survives the
//! death of the process, while the last commits may be lost in a power failure.
//!
//! Only one process opens the files. The register of nodes is in the memory of that process, except for the
//! fences: several nodes as processes need another relational store.

mod attendance;
mod auctions;
mod bids;
mod changes;
mod events;
mod filling;
mod full;
mod items;
mod pristine;
mod readers;
mod relational;
mod schema;
mod single_node;
#[cfg(test)]
mod tests;
mod users;
mod values;
mod writer;

pub use filling::{EventFile, FileFill, RelationalFile, Rows};
pub use full::is_full;
pub use pristine::Pristine;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use barograph_auction_store::{StoreDescription, StoreError};
use rusqlite::{Connection, OpenFlags};

use readers::Readers;
use single_node::SingleNode;
use writer::Writer;

/// Durability of the stores, for reports.
const DURABILITY: &str =
    "SQLite, WAL, synchronous=NORMAL: commits survive the process, the last may be lost with the machine";

/// Names this store in errors.
const STORE: &str = "SQLite";

/// The VFS of SQLite through which files are opened: for exclusive use by one process.
///
/// Locks between connections are in memory then. A read costs no system call for its locks, and threads with
/// tables of open files of their own may read: locks of the system belong to a table and not to a process.
const OF_ONE_PROCESS: &str = "unix-excl";

/// Prepared statements kept by a connection: all constant ones, and some lists with filters.
const STATEMENTS: usize = 128;

/// The two files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Users, auctions, items, listings.
    pub relational: PathBuf,
    /// Bids, attendance, images.
    pub events: PathBuf,
}

impl Files {
    /// The files in a folder.
    #[must_use]
    pub fn in_folder(dir: &Path) -> Self {
        Files { relational: dir.join("relational.db"), events: dir.join("events.db") }
    }

    /// The files of a fill.
    #[must_use]
    pub fn pristine(data_dir: &Path) -> Self {
        Files::in_folder(&data_dir.join("pristine"))
    }
}

/// Both stores and the register of nodes.
pub struct Sqlite {
    relational: File,
    events: File,
    alone: SingleNode,
}

/// One file with its readers and its writer.
struct File {
    readers: Readers,
    writer: Writer,
}

/// The writer threads; they end when the store is dropped.
#[derive(Debug)]
pub struct WriterThreads(Vec<JoinHandle<()>>);

impl WriterThreads {
    /// Waits until everything queued is written. To be called after the store was dropped; otherwise it waits
    /// for that.
    pub fn join(self) {
        for thread in self.0 {
            // A panicked writer has nothing left to write; its callers already got an error.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

/// Copies the pristine files of `data_dir` into `state_dir`, over the files of an earlier run.
///
/// # Errors
/// If a file cannot be removed or copied.
pub fn reset(data_dir: &Path, state_dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(state_dir)?;
    let (from, to) = (Files::pristine(data_dir), Files::in_folder(state_dir));
    for (from, to) in [(from.relational, to.relational), (from.events, to.events)] {
        remove(&to)?;
        std::fs::copy(from, to)?;
    }
    Ok(())
}

/// Removes a file of SQLite with its companions.
fn remove(path: &Path) -> std::io::Result<()> {
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(PathBuf::from(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// Opens the files in `state_dir` with a pool of `readers` connections for each of them.
///
/// # Errors
/// If a file cannot be opened, or was not made by a fill of this program.
pub fn open(state_dir: &Path, readers: usize) -> Result<(Arc<Sqlite>, WriterThreads), StoreError> {
    let files = Files::in_folder(state_dir);
    let (relational, first) = open_file(&files.relational, "relational-writer", readers)?;
    let (events, second) = open_file(&files.events, "events-writer", readers)?;
    let store = Sqlite { relational, events, alone: SingleNode::default() };
    Ok((Arc::new(store), WriterThreads(vec![first, second])))
}

fn open_file(path: &Path, name: &str, readers: usize) -> Result<(File, JoinHandle<()>), StoreError> {
    // Connections open before the thread starts, so that a failure leaves no thread.
    let conn = open_for_writing(path)?;
    pristine::stamp(&conn)?;
    let readers = Readers::open(readers, || open_for_reading(path))?;
    let (writer, thread) = Writer::start(conn, name)?;
    Ok((File { readers, writer }, thread))
}

fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let open = || {
        let conn = existing(path)?;
        // A checkpoint every 4,000 pages (16 MB) instead of 1,000: pauses become rarer by more than they
        // become longer.
        conn.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000; \
             PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;",
        )?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(conn)
    };
    open().map_err(failed("open a file for writing"))
}

/// Opens a connection for reading. Pages come from a shared map instead of a private cache. The first read
/// opens the write-ahead log, so that no later one opens a file: threads with tables of their own share only
/// the files that are open when they begin.
fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let open = || {
        let conn = existing(path)?;
        conn.execute_batch(
            "PRAGMA mmap_size=4294967296; PRAGMA query_only=ON; PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY; \
             SELECT count(*) FROM sqlite_schema;",
        )?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(conn)
    };
    open().map_err(failed("open a file for reading"))
}

/// A connection to an existing file. One thread at a time uses it, so that it needs no locks of its own.
fn existing(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags_and_vfs(path, flags, OF_ONE_PROCESS)
}

/// Description for both interfaces.
fn described() -> StoreDescription {
    StoreDescription {
        product: format!("{STORE} {}", rusqlite::version()),
        durability: DURABILITY.to_owned(),
    }
}

/// Converts an error of SQLite; `what` names the operation.
fn failed(what: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |why| match why.sqlite_error().map(|e| e.extended_code) {
        Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            StoreError::Conflict
        }
        _ => StoreError::Refused { store: STORE, what, source: why.into() },
    }
}
