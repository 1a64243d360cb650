//! The connection of a user, and its statements.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use barograph_engine::OpContext;
use barograph_model::Outcome;
use rusqlite::{CachedStatement, ErrorCode, OpenFlags, OptionalExtension, Params, Row, ffi};

use super::SqliteError;
use crate::measures::LOCK_WAIT;
use crate::{Access, Conflict, Reply, TransactionError, Transactions};

/// Capacity for prepared statements: more than a workload has.
const STATEMENTS: usize = 64;

/// Page cache of each connection, in KiB. The page cache of the system is behind it.
pub const CACHE_KIB: u32 = 4_096;

/// Settings of connections.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// The file.
    pub path: PathBuf,
    /// Commits wait for the disk.
    pub is_durable: bool,
    /// Limit on the wait for a lock, after which the transaction is tried again.
    pub busy: Duration,
}

/// The connection of a user. Its statements are prepared once.
#[derive(Debug)]
pub struct Connection {
    sqlite: rusqlite::Connection,
    /// Statements since the last call of `take_statements`.
    statements: Cell<u64>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn open(connecting: &ConnectionOptions) -> Result<Self, SqliteError> {
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = rusqlite::Connection::open_with_flags(&connecting.path, flags)?;
            connection.busy_timeout(connecting.busy)?;
            let synchronous = if connecting.is_durable { "FULL" } else { "OFF" };
            connection.execute_batch(&format!(
                "PRAGMA synchronous={synchronous}; PRAGMA cache_size=-{CACHE_KIB}; PRAGMA temp_store=MEMORY;"
            ))?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            Ok(connection)
        };
        let sqlite = open().map_err(SqliteError::sqlite("open", &connecting.path))?;
        Ok(Connection { sqlite, statements: Cell::new(0) })
    }

    /// A statement, which is counted.
    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.statements.set(self.statements.get() + 1);
        self.sqlite.prepare_cached(sql)
    }

    /// Changes rows, and returns their number.
    ///
    /// # Errors
    /// A conflict or a failure.
    pub fn change(&self, sql: &str, values: impl Params) -> Reply<usize> {
        self.prepare(sql).and_then(|mut s| s.execute(values)).map_err(|why| trouble(&why))
    }

    /// Changes exactly one row.
    ///
    /// # Errors
    /// As [`Connection::change`]; `what` is missing.
    pub fn change_one(&self, sql: &str, values: impl Params, what: &str) -> Reply<()> {
        if self.change(sql, values)? == 1 { Ok(()) } else { Err(TransactionError::missing(what)) }
    }

    /// The first row, if any.
    ///
    /// # Errors
    /// As [`Connection::change`].
    pub fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Reply<Option<T>> {
        let row = self.prepare(sql).and_then(|mut s| s.query_row(values, read).optional());
        row.map_err(|why| trouble(&why))
    }

    /// The number in the first column of the one row.
    ///
    /// # Errors
    /// As [`Connection::change_one`].
    pub fn number(&self, sql: &str, values: impl Params, what: &str) -> Reply<i64> {
        self.row(sql, values, |row| row.get(0))?.ok_or_else(|| TransactionError::missing(what))
    }

    /// Executes a statement of any kind, and calls `read` for each row. Returns the number of rows that it returned or changed.
    ///
    /// # Errors
    /// As [`Connection::change`].
    pub fn run(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Reply<u64> {
        let counted = self.prepare(sql).and_then(|mut statement| {
            if statement.column_count() == 0 {
                return statement.execute(values).map(|rows| rows as u64);
            }
            let (mut rows, mut count) = (statement.query(values)?, 0);
            while let Some(row) = rows.next()? {
                read(row)?;
                count += 1;
            }
            Ok(count)
        });
        counted.map_err(|why| trouble(&why))
    }

    /// Calls `read` for each row.
    ///
    /// # Errors
    /// As [`Connection::change`].
    pub fn each(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Reply<()> {
        let all = self.prepare(sql).and_then(|mut statement| {
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                read(row)?;
            }
            Ok(())
        });
        all.map_err(|why| trouble(&why))
    }
}

impl Transactions for Connection {
    const PAUSES: bool = false;

    fn take_statements(&mut self) -> u64 {
        self.statements.take()
    }

    async fn begin(&mut self, access: Access, context: &mut OpContext) -> Reply<()> {
        match access {
            Access::Read => self.change("BEGIN", []).map(drop),
            Access::Write => context.timed(LOCK_WAIT, || self.change("BEGIN IMMEDIATE", [])).map(drop),
        }
    }

    async fn commit(&mut self) -> Reply<()> {
        self.change("COMMIT", []).map(drop)
    }

    async fn roll_back(&mut self) -> Reply<()> {
        if self.sqlite.is_autocommit() { Ok(()) } else { self.change("ROLLBACK", []).map(drop) }
    }
}

/// The error of a transaction for one of SQLite.
fn trouble(why: &rusqlite::Error) -> TransactionError {
    let code = why.sqlite_error().map(|error| (error.code, error.extended_code));
    match code {
        Some((_, ffi::SQLITE_BUSY_SNAPSHOT)) => TransactionError::Conflict(Conflict::Snapshot),
        Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => {
            TransactionError::Conflict(Conflict::Busy)
        }
        _ => TransactionError::Failed { outcome: Outcome::Refused, why: why.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_told_from_failures() {
        let of = |code| trouble(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert_eq!(of(ffi::SQLITE_BUSY), TransactionError::Conflict(Conflict::Busy));
        assert_eq!(of(ffi::SQLITE_LOCKED), TransactionError::Conflict(Conflict::Busy));
        assert_eq!(of(ffi::SQLITE_BUSY_SNAPSHOT), TransactionError::Conflict(Conflict::Snapshot));
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CORRUPT] {
            assert!(matches!(of(code), TransactionError::Failed { outcome: Outcome::Refused, .. }), "{code}");
        }
    }
}
