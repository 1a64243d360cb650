//! Rows as text, in the form that COPY of PostgreSQL and LOAD DATA of MariaDB have by default.

use std::fmt::Write as _;
use std::sync::mpsc::Receiver;

use barograph_database::{Batch, Table, Value};

use crate::ServerError;

/// Rows of a table.
pub(crate) struct Chunk<T> {
    table: T,
    pub(crate) rows: u64,
    pub(crate) text: String,
}

impl<T: Table> Chunk<T> {
    /// The text of a batch. Texts of workloads have no characters that need to be escaped.
    pub(crate) fn of(batch: &Batch<T>) -> Self {
        let mut text = String::new();
        for row in batch.values.chunks(batch.table.spec().names().count()) {
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

/// The chunks for one session.
pub(crate) struct Chunks<'a, T> {
    come: Receiver<Chunk<T>>,
    next: Option<Chunk<T>>,
    /// Takes the number of rows of a table. An error ends the fill.
    told: &'a dyn Fn(T, u64) -> Result<(), ServerError>,
}

impl<'a, T: Table> Chunks<'a, T> {
    pub(crate) fn new(come: Receiver<Chunk<T>>, told: &'a dyn Fn(T, u64) -> Result<(), ServerError>) -> Self {
        Chunks { next: come.recv().ok(), come, told }
    }

    /// The table of the next chunk.
    pub(crate) fn table(&self) -> Option<T> {
        self.next.as_ref().map(|chunk| chunk.table)
    }

    /// The next chunk, if it is of this table.
    pub(crate) fn take(&mut self, table: T) -> Result<Option<Chunk<T>>, ServerError> {
        let Some(chunk) = self.next.take_if(|chunk| chunk.table == table) else { return Ok(None) };
        (self.told)(table, chunk.rows)?;
        self.next = self.come.recv().ok();
        Ok(Some(chunk))
    }
}
