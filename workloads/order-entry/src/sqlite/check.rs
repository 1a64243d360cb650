//! The data checks on a SQLite file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::SqliteError;
use crate::checks::{self, Database, Findings};
use crate::generate::Generator;
use crate::tally::Totals;

/// Page cache, in KiB: a check reads whole tables several times.
const CACHE_KIB: u32 = 65_536;

/// Checks the copy for a run.
pub(crate) fn check(path: &Path, generator: &Generator, counted: Totals) -> Result<Findings, SqliteError> {
    let open = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.execute_batch(&format!("PRAGMA query_only=ON; PRAGMA cache_size=-{CACHE_KIB};"))?;
        Ok(connection)
    };
    let checked = open().and_then(|connection| checks::check(&mut Queries(connection), generator, counted));
    checked.map_err(SqliteError::sqlite("check", path))
}

struct Queries(Connection);

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
