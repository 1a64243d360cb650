//! The stores: two SQLite files, each with one writer thread, and a pool of readers over both.
//!
//! A start copies the pristine files of a fill into the state folder, so a run never wears the filled data away and
//! a reset is a restart. Both files are in WAL mode with `synchronous=NORMAL`: a commit survives the death of the
//! process, while the last commits may be lost when the machine loses power.

mod attendance;
mod auctions;
mod bids;
mod error;
mod items;
mod readers;
mod rows;
mod users;
mod writer;

pub(crate) use auctions::StartState;
pub(crate) use bids::{Change, write_event, write_relational};
pub use error::StoreError;
pub(crate) use readers::Readers;
pub(crate) use rows::{Span, Window, count};
pub(crate) use writer::Writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;

/// How the stores write, in words, for reports.
pub(crate) const DURABILITY: &str =
    "SQLite, WAL, synchronous=NORMAL: commits survive the process, the last may be lost with the machine";

/// Ids of rows made in a run begin here; filled rows stay far below, and JSON numbers are exact up to 2^53.
const RUN_IDS: i64 = 1 << 40;

/// The files of a data set.
const FILES: [&str; 2] = ["relational.db", "events.db"];

/// Both stores.
pub(crate) struct Store {
    /// Reads both files: the events are attached to the relational connection.
    pub(crate) readers: Readers,
    /// Writes users, auctions, items, high bids.
    pub(crate) relational: Writer,
    /// Writes bids and attendance.
    pub(crate) events: Writer,
    next_id: AtomicI64,
}

/// The writer threads of a store; they end when the store is dropped.
pub(crate) struct WriterThreads(Vec<JoinHandle<()>>);

impl WriterThreads {
    /// Waits until everything queued is written. Call after the store was dropped.
    pub(crate) fn join(self) {
        for thread in self.0 {
            // A panicked writer has nothing left to write; its callers already got an error.
            let _ = thread.join();
        }
    }
}

/// Copies the pristine files of `data_dir` into `state_dir`, over what an earlier run left there.
pub(crate) fn reset(data_dir: &Path, state_dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(state_dir)?;
    for file in FILES {
        for left in [format!("{file}-wal"), format!("{file}-shm"), file.to_owned()] {
            match std::fs::remove_file(state_dir.join(left)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        std::fs::copy(data_dir.join("pristine").join(file), state_dir.join(file))?;
    }
    Ok(())
}

/// Where the two files are.
pub(crate) fn files(state_dir: &Path) -> [PathBuf; 2] {
    FILES.map(|file| state_dir.join(file))
}

impl Store {
    /// Opens the files in `state_dir` with a pool of `readers` connections.
    pub(crate) fn open(state_dir: &Path, readers: usize) -> Result<(Store, WriterThreads), StoreError> {
        let [relational, events] = files(state_dir);
        let (relational_writer, first) = Writer::start(open_for_writing(&relational)?, "relational-writer")?;
        let (events_writer, second) = Writer::start(open_for_writing(&events)?, "events-writer")?;
        let readers = Readers::open(readers, || open_for_reading(&relational, &events))?;
        let store = Store {
            readers,
            relational: relational_writer,
            events: events_writer,
            next_id: AtomicI64::new(RUN_IDS),
        };
        Ok((store, WriterThreads(vec![first, second])))
    }

    /// An id for a new event row.
    pub(crate) fn new_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

fn open_for_writing(path: &PathBuf) -> Result<Connection, StoreError> {
    let conn = Connection::open(path)?;
    // A checkpoint every 4,000 pages (16 MB) instead of 1,000 makes the pauses rarer than they get longer.
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000; \
         PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// A connection that reads both files; pages come from a shared map instead of a private cache.
pub(crate) fn open_for_reading(relational: &Path, events: &Path) -> Result<Connection, StoreError> {
    let conn = Connection::open(relational)?;
    conn.execute("ATTACH DATABASE ?1 AS events", [events.to_string_lossy()])?;
    conn.execute_batch(
        "PRAGMA main.mmap_size=4294967296; PRAGMA events.mmap_size=4294967296; PRAGMA query_only=ON; \
         PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}
