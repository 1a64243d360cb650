//! The data checks on a SQLite file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::SqliteError;
use crate::checks::{self, Ask, Checked};
use crate::generate::Generator;
use crate::tally::Counted;

/// Memory for pages, in KiB: a check reads whole tables several times.
const CACHE_KIB: u32 = 65_536;

/// Checks the copy of a run.
pub(crate) fn check(
    path: &Path,
    generator: &Generator,
    counted: Option<Counted>,
) -> Result<Checked, SqliteError> {
    let open = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.execute_batch(&format!("PRAGMA query_only=ON; PRAGMA cache_size=-{CACHE_KIB};"))?;
        Ok(connection)
    };
    let checked = open().and_then(|connection| checks::check(&mut Asking(connection), generator, counted));
    checked.map_err(SqliteError::sqlite("check", path))
}

struct Asking(Connection);

impl Ask for Asking {
    type Error = rusqlite::Error;

    fn ask(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> rusqlite::Result<()> {
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
