//! Fills a SQLite file: one thread generates rows, another inserts them.
//!
//! A piece is a transaction, whose number is in it. So a fill that was cut off goes on after its last piece.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::sync_channel;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};

use super::{SqliteError, schema};
use crate::{Batch, Contents, Indices, Table, Value};

/// Batches between the threads: a few megabytes.
const WAITING: usize = 4;

/// Settings for the fill. Nothing is synced before its end: the journal is for an end of the process, and a file from before
/// the start of the machine is not used.
const WHILE_FILLING: &str = "
PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;
";

/// Changes with every start of the machine.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Int(number) => number.to_sql(),
            Value::Text(text) => text.to_sql(),
            Value::Null => rusqlite::types::Null.to_sql(),
        }
    }
}

/// What the thread that generates rows hands over.
enum Made<T> {
    Rows(Batch<T>),
    /// The piece with this number has ended.
    End(i64),
}

/// The contents of an unfinished file, in words. Equal only if a fill can go on.
fn stamp<C: Contents>(contents: &C) -> String {
    format!("{}; {}", contents.stamp(), std::fs::read_to_string(BOOT).unwrap_or_default().trim())
}

/// The numbers of the pieces in an unfinished file with these contents.
pub(super) fn done<C: Contents>(path: &Path, contents: &C) -> rusqlite::Result<HashSet<i64>> {
    let connection = Connection::open(path)?;
    let mut pieces = connection.prepare("SELECT piece FROM barograph_fill_pieces WHERE stamp = ?")?;
    pieces.query_map([stamp(contents)], |row| row.get(0))?.collect()
}

/// Makes a file with all rows, beside those of the pieces that are `done`. `told` is as for [`super::Files::fill`].
pub(super) fn fill<C: Contents>(
    path: &Path,
    contents: &C,
    done: &HashSet<i64>,
    mut told: impl FnMut(C::Table, u64) -> bool,
) -> Result<(), SqliteError> {
    let failed = || SqliteError::sqlite("fill", path);
    let connection = Connection::open(path).map_err(failed())?;
    let (tables, stamp) = (contents.tables(), stamp(contents));
    let mut rows = begin::<C>(&connection, &tables, done).map_err(failed())?;
    if !tables.iter().zip(&rows).filter(|(_, rows)| **rows > 0).all(|(table, rows)| told(*table, *rows)) {
        return Err(SqliteError::Stopped);
    }
    let (send, made) = sync_channel(WAITING);
    let is_whole = std::thread::scope(|scope| {
        // Without a receiver the fill was stopped.
        scope.spawn(move || {
            let mut take = |batch| send.send(Made::Rows(batch)).is_ok();
            let mut pieces = (0..).zip(contents.pieces()).filter(|(number, _)| !done.contains(number));
            pieces.all(|(number, piece)| {
                contents.piece(piece, &mut take) && send.send(Made::End(number)).is_ok()
            })
        });
        for made in made {
            let batch = match made {
                Made::Rows(batch) => batch,
                Made::End(number) => {
                    let mut insert = connection.prepare_cached(schema::INSERT_PIECE)?;
                    insert.execute((&stamp, number))?;
                    connection.execute_batch("COMMIT; BEGIN;")?;
                    continue;
                }
            };
            let spec = batch.table.spec();
            let mut insert = connection.prepare_cached(&schema::insert(spec))?;
            for row in batch.values.chunks(spec.names().count()) {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
            for (_, rows) in tables.iter().zip(&mut rows).filter(|(table, _)| **table == batch.table) {
                *rows += batch.rows;
            }
            if !told(batch.table, batch.rows) {
                return Ok(false);
            }
        }
        Ok(true)
    });
    if !is_whole.map_err(failed())? {
        return Err(SqliteError::Stopped);
    }
    finish(&connection, contents, &rows).map_err(failed())?;
    connection.close().map_err(|(_, why)| failed()(why))?;
    let whole = std::fs::File::open(path).and_then(|file| file.sync_all());
    whole.map_err(SqliteError::file("write all of", path))
}

/// Makes the tables, unless pieces are done. Returns the rows of each.
fn begin<C: Contents>(
    connection: &Connection,
    tables: &[C::Table],
    done: &HashSet<i64>,
) -> rusqlite::Result<Vec<u64>> {
    // The mark comes first, so that the file of an interrupted fill is recognized.
    connection.pragma_update(None, "application_id", C::APPLICATION_ID)?;
    connection.execute_batch(WHILE_FILLING)?;
    connection.execute_batch("BEGIN")?;
    if done.is_empty() {
        connection.execute_batch(schema::PIECES)?;
        tables.iter().try_for_each(|table| connection.execute_batch(&schema::create(table.spec())))?;
        return Ok(vec![0; tables.len()]);
    }
    let count = |table: &C::Table| {
        let sql = format!("SELECT count(*) FROM {}", table.spec().name);
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
    };
    tables.iter().map(count).collect()
}

/// Makes indices, statistics and the marker in one transaction.
fn finish<C: Contents>(connection: &Connection, contents: &C, rows: &[u64]) -> rusqlite::Result<()> {
    let Indices { all, sqlite, .. } = contents.indices();
    all.iter().chain(sqlite).try_for_each(|sql| connection.execute_batch(sql))?;
    connection.execute_batch("DROP TABLE barograph_fill_pieces; ANALYZE;")?;
    connection.execute_batch(schema::MARKER)?;
    let mut insert = connection.prepare("INSERT INTO barograph_fill VALUES (?, ?, ?)")?;
    for (table, rows) in contents.tables().iter().zip(rows) {
        insert.execute((contents.stamp(), table.spec().name, *rows as i64))?;
    }
    connection.execute_batch("COMMIT;")
}
