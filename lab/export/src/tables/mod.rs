//! Everything in a record as tables: long, one item per row, units in the names of columns.
//!
//! Every table begins with the name of the run, so that those of many runs can be joined. Values that do not
//! apply or were not measured are absent, never zero.

mod answer;
mod course;
mod elasticity;
mod estimate;
mod load;
mod power;
mod probes;
mod settings;
mod statistics;
mod study;
mod tiles;
mod times;
mod trials;
mod world;

pub(crate) use probes::stated;
pub use study::export_study;

use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::Run;

use crate::ExportError;
use crate::sheet::{Cell, ColumnKind, Format, Head, OpenTable};

/// Whether the histograms of every interval are written too. Quantiles can be computed from them, and they
/// are by far the largest tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histograms {
    /// Left in the record.
    Left,
    /// Written.
    Written,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// Its name.
    pub table: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Number of rows.
    pub rows: u64,
}

/// Writes the record as one file per table into `folder`, which is made if missing. Files of an earlier
/// export are replaced.
pub fn export(
    run: &Run,
    format: Format,
    folder: &Path,
    histograms: Histograms,
) -> Result<Vec<TableFile>, ExportError> {
    let mut book = TableSet::open(("run", run.header.id.as_str()), format, folder)?;
    answer::write(&mut book, run)?;
    estimate::write(&mut book, run)?;
    tiles::write(&mut book, run)?;
    trials::write(&mut book, run)?;
    load::write(&mut book, run)?;
    probes::write(&mut book, run)?;
    power::write(&mut book, run)?;
    statistics::write(&mut book, run)?;
    course::write(&mut book, run)?;
    elasticity::write(&mut book, run)?;
    world::write(&mut book, run)?;
    settings::write(&mut book, run)?;
    if histograms == Histograms::Written {
        times::write(&mut book, run)?;
    }
    Ok(book.written)
}

/// The tables of one run, or of one study.
struct TableSet<'r> {
    /// The first column of every table, and its constant value: `run` or `study`, and its name.
    of: (&'static str, &'r str),
    format: Format,
    folder: &'r Path,
    written: Vec<TableFile>,
}

impl<'r> TableSet<'r> {
    /// Begins an export; makes its folder if missing.
    fn open(of: (&'static str, &'r str), format: Format, folder: &'r Path) -> Result<Self, ExportError> {
        fs::create_dir_all(folder).map_err(|why| ExportError::Folder { path: folder.to_owned(), why })?;
        Ok(TableSet { of, format, folder, written: Vec::new() })
    }

    /// Writes a table.
    fn table<R>(
        &mut self,
        table: &'static str,
        columns: &Columns<'_, R>,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), ExportError> {
        let path = self.folder.join(format!("{table}.{}", self.format.name()));
        let mut heads = vec![Head { name: self.of.0.to_owned(), kind: ColumnKind::Text }];
        heads.extend(columns.0.iter().map(|(head, _)| head.clone()));
        let mut open = OpenTable::create(self.format, &path, &heads)?;
        for row in rows {
            let mut cells = vec![Cell::from(self.of.1)];
            cells.extend(columns.0.iter().map(|(_, get)| get(&row)));
            open.row(&cells)?;
        }
        let rows = open.finish()?;
        self.written.push(TableFile { table, path, rows });
        Ok(())
    }
}

/// A text, or `None` if it is empty.
fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Function from a row to a cell.
type CellFn<'c, R> = Box<dyn for<'a> Fn(&'a R) -> Cell<'a> + 'c>;

/// The columns of a table of `R`, from left to right.
struct Columns<'c, R>(Vec<(Head, CellFn<'c, R>)>);

impl<'c, R> Columns<'c, R> {
    fn new() -> Self {
        Columns(Vec::new())
    }

    fn with(mut self, name: &str, kind: ColumnKind, get: CellFn<'c, R>) -> Self {
        self.0.push((Head { name: name.to_owned(), kind }, get));
        self
    }

    /// A column of whole numbers.
    fn whole(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, ColumnKind::Whole, Box::new(get))
    }

    /// A column of numbers.
    fn float(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, ColumnKind::Float, Box::new(get))
    }

    fn text(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, ColumnKind::Text, Box::new(get))
    }

    fn truth(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, ColumnKind::Truth, Box::new(get))
    }
}
