//! Rows as text, in the form that COPY of PostgreSQL and LOAD DATA of MariaDB have by default.

use std::fmt::Write as _;

use barograph_database::Value;

use crate::generate::Batch;
use crate::tables::Table;

/// Rows of a table.
pub(crate) struct Chunk {
    pub(crate) table: Table,
    pub(crate) rows: u64,
    pub(crate) text: String,
}

impl Chunk {
    /// Texts of the generator have no characters that need to be escaped.
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut text = String::new();
        for row in batch.values.chunks(batch.table.names().count()) {
            for (at, value) in row.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "\t" });
                match value {
                    // Writing into a text cannot fail.
                    Value::Int(number) => drop(write!(text, "{number}")),
                    Value::Text(value) => text.push_str(value),
                    Value::Null => text.push_str("\\N"),
                }
            }
            text.push('\n');
        }
        Chunk { table: batch.table, rows: batch.rows, text }
    }
}
