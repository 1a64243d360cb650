//! The loaded rows, as a function of file, scale and seed.

use std::sync::Arc;

use barograph_data::{Streams, mix};
use barograph_database::{Batch, Contents, Indices, Table, TableSpec, Value};

use crate::draw::Draw;
use crate::script::Script;

/// Rows of a piece.
const PIECE: u64 = 10_000;

/// Rows of a batch.
const BATCH: u64 = 500;

/// The loaded contents of a database.
#[derive(Clone, Debug)]
pub(crate) struct FileContents {
    pub(crate) script: Arc<Script>,
    pub(crate) scale: u64,
    pub(crate) seed: u64,
    /// The run fills the tables. Otherwise the database is used as it is.
    pub(crate) is_filled: bool,
}

/// A table of a file, by its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTable {
    at: usize,
    spec: TableSpec,
}

impl PartialEq for FileTable {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for FileTable {}

impl Table for FileTable {
    /// Tables are those of contents.
    fn all() -> &'static [Self] {
        &[]
    }

    fn spec(self) -> TableSpec {
        self.spec
    }
}

/// Some rows of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    table: FileTable,
    first: u64,
    count: u64,
}

impl FileContents {
    /// The rows of each table.
    pub(crate) fn rows(&self) -> Vec<u64> {
        self.script.tables.iter().map(|table| table.rows.saturating_mul(self.scale)).collect()
    }

    /// A number for the tables and draws of the file.
    pub(crate) fn digest(&self) -> u64 {
        let text = format!("{:?} {:?}", self.script.tables, self.script.indices);
        text.bytes().fold(0, |all, byte| mix(all ^ u64::from(byte)))
    }
}

impl Contents for FileContents {
    type Table = FileTable;
    type Piece = Piece;

    const APPLICATION_ID: i32 = 0x6261_7374;
    const KIND: &'static str = "a database of statements";
    const INDICES: Indices = Indices { all: &[], sqlite: &[], postgres: &[], mariadb: &[] };

    fn tables(&self) -> Vec<FileTable> {
        let tables = self.script.tables.iter().enumerate().filter(|_| self.is_filled);
        tables.map(|(at, table)| FileTable { at, spec: table.spec }).collect()
    }

    fn indices(&self) -> Indices {
        Indices { all: self.script.indices, ..Self::INDICES }
    }

    fn stamp(&self) -> String {
        let (FileContents { script, scale, seed, .. }, version) = (self, crate::VERSION);
        format!("{} {:016x}, scale {scale}, seed {seed}, version {version}", script.name, self.digest())
    }

    fn expected_rows(&self, table: FileTable) -> u64 {
        self.rows().get(table.at).copied().unwrap_or(0)
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + Send {
        self.tables().into_iter().zip(self.rows()).flat_map(|(table, rows)| {
            let first = (0..rows.div_ceil(PIECE)).map(|piece| piece * PIECE);
            first.map(move |first| Piece { table, first, count: PIECE.min(rows - first) })
        })
    }

    fn piece(&self, piece: Piece, take: &mut dyn FnMut(Batch<FileTable>) -> bool) -> bool {
        let Piece { table, first, count } = piece;
        let (spec, rows) = (&self.script.tables[table.at], self.rows());
        let draws: Vec<Draw> = spec.columns.iter().map(|draw| Draw::new(draw, &rows)).collect();
        let mut rng = Streams::new(self.seed).stream(spec.spec.name, first);
        let batches = (first..first + count).step_by(BATCH as usize);
        batches.map(|begin| begin..(begin + BATCH).min(first + count)).all(|numbers| {
            let rows = numbers.end - numbers.start;
            let mut values = Vec::with_capacity(rows as usize * draws.len());
            for row in numbers {
                for draw in &draws {
                    let mut value = Value::Null;
                    draw.draw(row + 1, &mut rng, &mut value);
                    values.push(value);
                }
            }
            take(Batch { table, values, rows })
        })
    }
}
