//! `barograph compare`: compares records of runs.

use barograph_record::{ComparisonRecord, ExitCode, FindingRecord, Run};
use barograph_report::comparison;
use barograph_study::{CompareRuns, ComparisonError};

use super::record_folder::RecordFolder;
use super::{CommandFailure, CommandResult};
use crate::args::{CompareArgs, Format};
use crate::terminal;

/// Compares, prints the result, and returns the exit code for a CI job.
pub(crate) fn compare(args: &CompareArgs) -> CommandResult {
    let opened = [opened(args, &args.baseline)?, opened(args, &args.candidate)?];
    let [baseline, candidate] = [runs(&opened[0])?, runs(&opened[1])?];
    let how = CompareRuns { allow: args.allow.clone(), margin: args.margin.get() };
    let compared =
        how.compare(&baseline, &candidate).map_err(|why| CommandFailure::new(code_of(&why), why))?;
    terminal::result(&match args.format {
        Format::Text => comparison::text(&compared),
        Format::Json => format!("{:#}", comparison::json(&compared)),
        Format::Junit => comparison::junit(&compared),
        Format::Markdown => comparison::markdown(&compared),
    });
    Ok(end(&compared, args.strict))
}

fn opened(args: &CompareArgs, names: &str) -> Result<Vec<RecordFolder>, CommandFailure> {
    names.split(',').map(|name| RecordFolder::find(&args.runs, Some(name.trim()))).collect()
}

fn runs(opened: &[RecordFolder]) -> Result<Vec<Run>, CommandFailure> {
    opened.iter().map(RecordFolder::run).collect()
}

fn code_of(why: &ComparisonError) -> ExitCode {
    match why {
        ComparisonError::NothingToBelieve { .. } => ExitCode::NotValid,
        _ => ExitCode::Refused,
    }
}

/// Exit code of a comparison. Worse precedes unknown, and unknown precedes undecided.
fn end(compared: &ComparisonRecord, strict: bool) -> ExitCode {
    let any = |finding| compared.count(finding) > 0;
    let unknown = || !compared.missing.is_empty() || compared.found().any(|(_, row)| row.is_without_pairs());
    match () {
        () if any(FindingRecord::Worse) || compared.breaks_rules => ExitCode::Regression,
        // No metric was compared, which is not a success.
        () if compared.metrics.is_empty() || unknown() => ExitCode::NotValid,
        () if strict && any(FindingRecord::Undecided) => ExitCode::Undecided,
        () => ExitCode::Fine,
    }
}
