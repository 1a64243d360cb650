//! Rows as text, in the form that COPY of PostgreSQL and LOAD DATA of MariaDB have by default.

use std::fmt::Write as _;
use std::sync::mpsc::Receiver;

use barograph_database::{Batch, Table, Value};

use crate::ServerError;
use crate::product::PIECES;

/// Chunks of a transaction, and those up to the end of a piece: the server keeps what it would undo, and an interrupted fill makes
/// them again.
const MOST_CHUNKS: usize = 32;

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

/// What is made for a session.
pub(crate) enum Made<T> {
    Rows(Chunk<T>),
    /// The end of the piece of this number.
    End(i64),
}

/// The chunks for one session.
pub(crate) struct Chunks<'a, T> {
    come: Receiver<Made<T>>,
    next: Option<Chunk<T>>,
    /// Nothing of the next piece was taken.
    is_between: bool,
    /// Chunks that were taken since the last commit.
    taken: usize,
    /// Pieces that ended since the last commit.
    ended: Vec<i64>,
    /// Takes the number of rows of a table. An error ends the fill.
    told: &'a dyn Fn(T, u64) -> Result<(), ServerError>,
}

impl<'a, T: Table> Chunks<'a, T> {
    pub(crate) fn new(come: Receiver<Made<T>>, told: &'a dyn Fn(T, u64) -> Result<(), ServerError>) -> Self {
        let mut chunks = Chunks { come, next: None, is_between: true, taken: 0, ended: Vec::new(), told };
        chunks.receive();
        chunks
    }

    fn receive(&mut self) {
        self.is_between = false;
        self.next = loop {
            match self.come.recv() {
                Ok(Made::Rows(chunk)) => break Some(chunk),
                Ok(Made::End(piece)) => {
                    self.ended.push(piece);
                    self.is_between = true;
                }
                Err(_) => break None,
            }
        };
    }

    /// The table of the next chunk.
    pub(crate) fn table(&self) -> Option<T> {
        self.next.as_ref().map(|chunk| chunk.table)
    }

    /// Whether a transaction begins.
    pub(crate) fn begins(&self) -> bool {
        self.taken == 0
    }

    fn is_full(&self) -> bool {
        self.is_between && self.taken >= MOST_CHUNKS
    }

    /// The next chunk, if it is of this table and of this transaction.
    pub(crate) fn take(&mut self, table: T) -> Result<Option<Chunk<T>>, ServerError> {
        if self.is_full() {
            return Ok(None);
        }
        let Some(chunk) = self.next.take_if(|chunk| chunk.table == table) else { return Ok(None) };
        self.taken += 1;
        (self.told)(table, chunk.rows)?;
        self.receive();
        Ok(Some(chunk))
    }

    /// The SQL that notes the complete pieces and commits; `None` where the transaction goes on. A piece is committed as a whole.
    pub(crate) fn commit(&mut self) -> Option<String> {
        let is_end = self.is_between && self.next.is_none();
        if !is_end && !self.is_full() {
            return None;
        }
        self.taken = 0;
        let pieces: Vec<String> = self.ended.drain(..).map(|piece| format!("({piece})")).collect();
        Some(format!("INSERT INTO {PIECES} VALUES {}; COMMIT", pieces.join(", ")))
    }
}
