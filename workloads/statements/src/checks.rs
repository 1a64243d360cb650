//! The data checks of a file.

use barograph_database::{Database, Findings, Violations, number};

use crate::contents::FileContents;
use crate::tally::Tally;

/// Names of the columns of a violation.
const COLUMNS: [&str; 4] = ["column 1", "column 2", "column 3", "column 4"];

/// Checks a database after a run. Commits can be compared only where the run has filled the database.
pub(crate) fn check<D: Database>(
    database: &mut D,
    contents: &FileContents,
    tally: &Tally,
) -> Result<Findings, D::Error> {
    let mut findings = Findings::default();
    for check in &contents.script.checks {
        match check.counted {
            None => {
                let mut places = Violations::default();
                database.rows(&check.sql, &mut |row| places.add(row))?;
                findings.places(&format!("\"{}\" does not hold", check.rule), &COLUMNS, places);
            }
            Some(transaction) if contents.is_filled => {
                let found = number(database, &check.sql)?;
                findings.expect_commits(&check.rule, found, tally.commits(transaction));
            }
            Some(_) => {}
        }
    }
    Ok(findings)
}
