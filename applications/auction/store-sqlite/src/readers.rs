//! A pool of read-only connections to one file.
//!
//! Reads run on the thread that serves the request: a read takes a few microseconds, less than a move to
//! another thread and back.

use std::cell::Cell;

use barograph_auction_store::StoreError;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::failed;

/// The pool.
pub(crate) struct Readers {
    connections: Vec<Mutex<Connection>>,
}

thread_local! {
    /// First connection tried by this thread: threads that found a free connection stay with it.
    static FIRST: Cell<usize> = const { Cell::new(0) };
}

impl Readers {
    /// Opens `count` connections (at least one).
    pub(crate) fn open(
        count: usize,
        open: impl Fn() -> Result<Connection, StoreError>,
    ) -> Result<Self, StoreError> {
        let connections = (0..count.max(1)).map(|_| open().map(Mutex::new)).collect::<Result<_, _>>()?;
        Ok(Readers { connections })
    }

    /// Runs several queries on the same state, so that a total fits its page. It also takes the file's lock
    /// once instead of once per query.
    pub(crate) fn read_together<T>(
        &self,
        what: &'static str,
        queries: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read(what, |conn| {
            conn.prepare_cached("BEGIN")?.execute([])?;
            let result = queries(conn);
            conn.prepare_cached("COMMIT")?.execute([])?;
            result
        })
    }

    /// Runs a query on a free connection, or waits for one. `what` names the operation: "read a user".
    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let count = self.connections.len();
        let first = FIRST.get() % count;
        for step in 0..count {
            let at = (first + step) % count;
            if let Some(connection) = self.connections[at].try_lock() {
                FIRST.set(at);
                return query(&connection).map_err(failed(what));
            }
        }
        query(&self.connections[first].lock()).map_err(failed(what))
    }
}
