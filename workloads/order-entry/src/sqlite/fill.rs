//! Fills a SQLite file: one thread generates rows, another inserts them.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};

use super::{SqliteError, schema};
use crate::generate::{Generator, Value};
use crate::tables::Table;

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
pub(super) fn fill(
    path: &Path,
    generator: &Generator,
    mut told: impl FnMut(Table, u64) -> bool,
) -> Result<(), SqliteError> {
    let failed = || SqliteError::sqlite("fill", path);
    let connection = Connection::open(path).map_err(failed())?;
    begin(&connection).map_err(failed())?;
    let (send, batches) = sync_channel(WAITING);
    let lines = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Without a receiver the fill was stopped.
            let mut take = |batch| send.send(batch).is_ok();
            generator.pieces().all(|piece| generator.batches(piece, &mut take))
        });
        let mut lines = 0;
        for batch in batches {
            let mut insert = connection.prepare_cached(&schema::insert(batch.table))?;
            for row in batch.values.chunks(batch.table.names().count()) {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
            if batch.table == Table::OrderLine {
                lines += batch.rows;
            }
            if !told(batch.table, batch.rows) {
                return Ok(None);
            }
        }
        Ok(Some(lines))
    });
    let lines = lines.map_err(failed())?.ok_or(SqliteError::Stopped)?;
    finish(&connection, generator, lines).map_err(failed())?;
    connection.close().map_err(|(_, why)| failed()(why))?;
    let whole = std::fs::File::open(path).and_then(|file| file.sync_all());
    whole.map_err(SqliteError::file("write all of", path))
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    // The mark comes first, so that the file of an interrupted fill is recognized.
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.execute_batch(WHILE_FILLING)?;
    Table::ALL.into_iter().try_for_each(|table| connection.execute_batch(&schema::create(table)))
}

fn finish(connection: &Connection, generator: &Generator, lines: u64) -> rusqlite::Result<()> {
    connection.execute_batch(schema::INDICES)?;
    connection.execute_batch("COMMIT; ANALYZE;")?;
    connection.execute_batch(schema::MARKER)?;
    let size = &generator.size;
    let values = (crate::VERSION, size.warehouses, size.scale, generator.seed.to_string(), lines as i64);
    connection.execute("INSERT INTO barograph_marker VALUES (?, ?, ?, ?, ?)", values).map(drop)
}
