//! The data checks on a SQLite file.

use std::path::Path;

use barograph_database::Findings;
use barograph_database::sqlite::{self, SqliteError};

use crate::checks;
use crate::generate::Generator;
use crate::tally::Totals;

/// Checks the copy for a run.
pub(crate) fn check(path: &Path, generator: &Generator, counted: Totals) -> Result<Findings, SqliteError> {
    sqlite::check(path, |queries| checks::check(queries, generator, counted))
}
