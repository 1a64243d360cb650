//! Queries of data checks on a SQLite file.

use std::path::Path;

use rusqlite::OpenFlags;

use super::SqliteError;
use crate::Database;

/// Page cache, in KiB: a check reads whole tables several times.
const CACHE_KIB: u32 = 65_536;

/// Checks a file by queries. It is not changed.
///
/// # Errors
/// SQLite refused.
pub fn check<T>(
    path: &Path,
    checks: impl FnOnce(&mut Queries) -> rusqlite::Result<T>,
) -> Result<T, SqliteError> {
    let open = || {
        let connection = rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.execute_batch(&format!("PRAGMA query_only=ON; PRAGMA cache_size=-{CACHE_KIB};"))?;
        Ok(Queries(connection))
    };
    open().and_then(|mut queries| checks(&mut queries)).map_err(SqliteError::sqlite("check", path))
}

/// A connection for queries.
#[derive(Debug)]
pub struct Queries(rusqlite::Connection);

impl Database for Queries {
    type Error = rusqlite::Error;

    fn rows(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> rusqlite::Result<()> {
        let mut statement = self.0.prepare(sql)?;
        let mut values = vec![0; statement.column_count()];
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (at, value) in values.iter_mut().enumerate() {
                // The sum of no rows is null.
                *value = row.get::<_, Option<i64>>(at)?.unwrap_or(0);
            }
            take(&values);
        }
        Ok(())
    }
}
