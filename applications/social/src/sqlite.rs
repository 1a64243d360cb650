//! Rows in a SQLite file of this process: a pool of readers, and a thread that writes.
//!
//! The file is in WAL mode with `synchronous=NORMAL`: a change that is answered survives the death of the process,
//! and the last ones may be lost with the machine.

use std::path::Path;

use parking_lot::Mutex;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

use crate::store::{Changed, Row, Statement, StoreError, Value};
use crate::writer::Writer;

/// Prepared statements kept by a connection: more than the site has.
const STATEMENTS: usize = 128;

/// For exclusive use by one process: a read costs no system call for its locks.
const OF_ONE_PROCESS: &str = "unix-excl";

/// The store.
pub(crate) struct Sqlite {
    readers: Vec<Mutex<Connection>>,
    writer: Writer,
}

impl Sqlite {
    /// Opens a file, and makes it if there is none.
    pub(crate) fn open(path: &Path, readers: usize) -> Result<Self, StoreError> {
        let writer = connection(
            path,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000; \
             PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;",
        )?;
        let reader = || {
            connection(path, "PRAGMA mmap_size=4294967296; PRAGMA query_only=ON; PRAGMA temp_store=MEMORY;")
                .map(Mutex::new)
        };
        let readers = (0..readers.max(1)).map(|_| reader()).collect::<Result<_, _>>()?;
        Ok(Sqlite { readers, writer: Writer::start(writer)? })
    }

    /// Reads on the calling thread, which takes some microseconds.
    pub(crate) fn read(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock());
        let reader = free.unwrap_or_else(|| self.readers[0].lock());
        rows(&reader, sql, values).map_err(refused)
    }

    pub(crate) async fn change(&self, statements: Vec<Statement>) -> Result<Changed, StoreError> {
        self.writer.change(statements).await
    }
}

fn connection(path: &Path, settings: &str) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(path, flags, OF_ONE_PROCESS).map_err(refused)?;
    connection.execute_batch(settings).map_err(refused)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn rows(connection: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| (0..columns).map(|column| value(row.get_ref(column)?)).collect();
    let rows = statement.query_map(params_from_iter(values.iter().map(|value| bound(value, 0))), read)?;
    rows.map(|row| row.map(Row)).collect()
}

fn value(value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Null => Value::Int(0),
        other => Value::Text(other.as_str().unwrap_or_default().to_owned()),
    })
}

/// A value for SQLite; `new` is the number of the new row.
fn bound(value: &Value, new: i64) -> rusqlite::types::Value {
    match value {
        Value::Int(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
        Value::New => new.into(),
    }
}

/// Carries out the statements of a change.
pub(crate) fn carry_out(connection: &Connection, statements: &[Statement]) -> rusqlite::Result<Changed> {
    let mut changed = Changed::default();
    for (at, statement) in statements.iter().enumerate() {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        let values = params_from_iter(statement.values.iter().map(|value| bound(value, changed.new)));
        if at == 0 && prepared.column_count() > 0 {
            changed.new = prepared.query_row(values, |row| row.get(0))?;
            changed.rows = 1;
        } else {
            changed.rows = prepared.execute(values)? as u64;
        }
    }
    Ok(changed)
}

/// The error of the seam.
pub(crate) fn refused(why: rusqlite::Error) -> StoreError {
    match why.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => StoreError::Taken,
        _ => StoreError::Refused(why.into()),
    }
}
