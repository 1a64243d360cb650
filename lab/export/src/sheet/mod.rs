//! One table in one file: columns with a name and a kind, rows of cells, in CSV or Parquet.

mod cell;
mod csv;
mod parquet;

use std::fs;
use std::path::Path;

pub(crate) use cell::{Cell, ColumnKind};

use crate::ExportError;

/// Format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text with a header row; an absent value is an empty field.
    Csv,
    /// Apache Parquet, compressed with Snappy; an absent value is a null.
    Parquet,
}

impl Format {
    /// The name in commands, folders and file names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

type SheetError = Box<dyn std::error::Error + Send + Sync>;

/// A table being written.
trait Sheet {
    /// Writes a row; as many cells as heads, each of its kind or empty.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), SheetError>;

    /// Completes the file after the last row.
    fn finish(self: Box<Self>) -> Result<(), SheetError>;
}

/// A table being written, under a temporary name, so that a file is either whole or absent.
pub(crate) struct OpenTable<'p> {
    path: &'p Path,
    passing: std::path::PathBuf,
    sheet: Box<dyn Sheet>,
    rows: u64,
}

impl<'p> OpenTable<'p> {
    pub(crate) fn create(format: Format, path: &'p Path, heads: &[Head]) -> Result<Self, ExportError> {
        let passing = barograph_record::draft_of(path);
        let begin = || -> Result<Box<dyn Sheet>, SheetError> {
            let file = fs::File::create(&passing)?;
            Ok(match format {
                Format::Csv => Box::new(csv::CsvSheet::begin(file, heads)?),
                Format::Parquet => Box::new(parquet::ParquetSheet::begin(file, heads)?),
            })
        };
        let sheet = begin().map_err(|why| ExportError::write(path, why))?;
        Ok(OpenTable { path, passing, sheet, rows: 0 })
    }

    pub(crate) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        self.rows += 1;
        self.sheet.row(cells).map_err(|why| ExportError::write(self.path, why))
    }

    /// Completes the table; returns the number of rows.
    pub(crate) fn finish(self) -> Result<u64, ExportError> {
        let OpenTable { path, passing, sheet, rows } = self;
        sheet.finish().map_err(|why| ExportError::write(path, why))?;
        fs::rename(&passing, path).map_err(|why| ExportError::write(path, why))?;
        Ok(rows)
    }
}
