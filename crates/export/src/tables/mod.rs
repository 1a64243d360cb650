//! Everything in a record as tables: long, one thing per row, units in the names of columns.
//!
//! Every table begins with the name of the run, so that those of many runs can be laid one under the other. What does
//! not apply or was not measured is absent, never zero.

mod answer;
mod course;
mod estimate;
mod load;
mod probes;
mod settings;
mod statistics;
mod study;
mod times;
mod trials;
mod world;

pub(crate) use probes::stated;
pub use study::export_study;

use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::Run;

use crate::ExportError;
use crate::sheet::{Cell, Format, Head, Kind, Open};

/// Are the histograms of every interval written too? They are what quantiles can be computed from again, and by far the
/// largest tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histograms {
    /// Left in the record.
    Left,
    /// Written.
    Written,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub table: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// How many rows it has.
    pub rows: u64,
}

/// Writes the record as one file per table into `folder`, which is made when it is not there. Files of an earlier export
/// are replaced.
pub fn export(
    run: &Run,
    format: Format,
    folder: &Path,
    histograms: Histograms,
) -> Result<Vec<Written>, ExportError> {
    fs::create_dir_all(folder).map_err(|why| ExportError::Folder { path: folder.to_owned(), why })?;
    let mut book = Book { run, format, folder, written: Vec::new() };
    answer::write(&mut book)?;
    estimate::write(&mut book)?;
    trials::write(&mut book)?;
    load::write(&mut book)?;
    probes::write(&mut book)?;
    statistics::write(&mut book)?;
    course::write(&mut book)?;
    world::write(&mut book)?;
    settings::write(&mut book)?;
    if histograms == Histograms::Written {
        times::write(&mut book)?;
    }
    Ok(book.written)
}

/// The tables of one record.
struct Book<'r> {
    run: &'r Run,
    format: Format,
    folder: &'r Path,
    written: Vec<Written>,
}

impl Book<'_> {
    /// Writes a table.
    fn table<R>(
        &mut self,
        table: &'static str,
        columns: &Columns<'_, R>,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), ExportError> {
        let of = ("run", self.run.header.id.as_str());
        self.written.push(put((self.format, self.folder), of, table, (columns, rows))?);
        Ok(())
    }
}

/// A text that is empty where there is nothing to say.
fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Writes a table whose first column, `of.0`, names in every row what it is of: `of.1`.
fn put<R>(
    (format, folder): (Format, &Path),
    of: (&str, &str),
    table: &'static str,
    (columns, rows): (&Columns<'_, R>, impl IntoIterator<Item = R>),
) -> Result<Written, ExportError> {
    let path = folder.join(format!("{table}.{}", format.name()));
    let mut heads = vec![Head { name: of.0.to_owned(), kind: Kind::Text }];
    heads.extend(columns.0.iter().map(|(head, _)| head.clone()));
    let mut open = Open::create(format, &path, &heads)?;
    for row in rows {
        let mut cells = vec![Cell::from(of.1)];
        cells.extend(columns.0.iter().map(|(_, get)| get(&row)));
        open.row(&cells)?;
    }
    let rows = open.finish()?;
    Ok(Written { table, path, rows })
}

/// How a cell comes from a row.
type Get<'c, R> = Box<dyn for<'a> Fn(&'a R) -> Cell<'a> + 'c>;

/// The columns of a table of `R`, from the left to the right.
struct Columns<'c, R>(Vec<(Head, Get<'c, R>)>);

impl<'c, R> Columns<'c, R> {
    fn new() -> Self {
        Columns(Vec::new())
    }

    fn with(mut self, name: &str, kind: Kind, get: Get<'c, R>) -> Self {
        self.0.push((Head { name: name.to_owned(), kind }, get));
        self
    }

    /// A column of whole numbers.
    fn whole(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, Kind::Whole, Box::new(get))
    }

    /// A column of numbers.
    fn float(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, Kind::Float, Box::new(get))
    }

    fn text(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, Kind::Text, Box::new(get))
    }

    fn truth(self, name: &str, get: impl for<'a> Fn(&'a R) -> Cell<'a> + 'c) -> Self {
        self.with(name, Kind::Truth, Box::new(get))
    }
}
