//! Fills a SQLite file: one thread generates rows, another inserts them.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};

use super::{SqliteError, schema};
use crate::{Contents, Indices, Table, Value};

/// Batches between the threads: a few megabytes.
const WAITING: usize = 4;

/// Settings for the fill. An interrupted fill is discarded, so nothing protects the file.
const WHILE_FILLING: &str = "
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;
BEGIN;
";

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Int(number) => number.to_sql(),
            Value::Text(text) => text.to_sql(),
            Value::Null => rusqlite::types::Null.to_sql(),
        }
    }
}

/// Makes a file with all rows. `told` is as for [`super::Files::fill`].
pub(super) fn fill<C: Contents>(
    path: &Path,
    contents: &C,
    mut told: impl FnMut(C::Table, u64) -> bool,
) -> Result<(), SqliteError> {
    let failed = || SqliteError::sqlite("fill", path);
    let connection = Connection::open(path).map_err(failed())?;
    let tables = contents.tables();
    begin::<C>(&connection, &tables).map_err(failed())?;
    let (send, batches) = sync_channel(WAITING);
    let rows = std::thread::scope(|scope| {
        // Without a receiver the fill was stopped.
        scope.spawn(move || {
            let mut take = |batch| send.send(batch).is_ok();
            contents.pieces().all(|piece| contents.piece(piece, &mut take))
        });
        let mut rows = vec![0; tables.len()];
        for batch in batches {
            let spec = batch.table.spec();
            let mut insert = connection.prepare_cached(&schema::insert(spec))?;
            for row in batch.values.chunks(spec.names().count()) {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
            for (_, rows) in tables.iter().zip(&mut rows).filter(|(table, _)| **table == batch.table) {
                *rows += batch.rows;
            }
            if !told(batch.table, batch.rows) {
                return Ok(None);
            }
        }
        Ok(Some(rows))
    });
    let rows = rows.map_err(failed())?.ok_or(SqliteError::Stopped)?;
    finish(&connection, contents, &rows).map_err(failed())?;
    connection.close().map_err(|(_, why)| failed()(why))?;
    let whole = std::fs::File::open(path).and_then(|file| file.sync_all());
    whole.map_err(SqliteError::file("write all of", path))
}

fn begin<C: Contents>(connection: &Connection, tables: &[C::Table]) -> rusqlite::Result<()> {
    // The mark comes first, so that the file of an interrupted fill is recognized.
    connection.pragma_update(None, "application_id", C::APPLICATION_ID)?;
    connection.execute_batch(WHILE_FILLING)?;
    tables.iter().try_for_each(|table| connection.execute_batch(&schema::create(table.spec())))
}

fn finish<C: Contents>(connection: &Connection, contents: &C, rows: &[u64]) -> rusqlite::Result<()> {
    let Indices { all, sqlite, .. } = contents.indices();
    all.iter().chain(sqlite).try_for_each(|sql| connection.execute_batch(sql))?;
    connection.execute_batch("COMMIT; ANALYZE; BEGIN;")?;
    connection.execute_batch(schema::MARKER)?;
    let mut insert = connection.prepare("INSERT INTO barograph_fill VALUES (?, ?, ?)")?;
    for (table, rows) in contents.tables().iter().zip(rows) {
        insert.execute((contents.stamp(), table.spec().name, *rows as i64))?;
    }
    connection.execute_batch("COMMIT;")
}
