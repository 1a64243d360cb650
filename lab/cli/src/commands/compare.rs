//! `barograph compare`: compares records of runs.

use barograph_record::{Compared, ExitCode, KeptFinding, Run};
use barograph_report::comparison;
use barograph_study::{CompareRuns, NotComparable};

use super::opened::Opened;
use super::{Done, Failed};
use crate::args::{CompareArgs, Format};
use crate::terminal;

/// Compares, prints the result, and returns the exit code for a CI job.
pub(crate) fn compare(args: &CompareArgs) -> Done {
    let opened = [opened(args, &args.baseline)?, opened(args, &args.candidate)?];
    let [baseline, candidate] = [runs(&opened[0])?, runs(&opened[1])?];
    let how = CompareRuns { allow: args.allow.clone(), margin: args.margin.get() };
    let compared = how.compare(&baseline, &candidate).map_err(|why| Failed::new(code_of(&why), why))?;
    terminal::result(&match args.format {
        Format::Text => comparison::text(&compared),
        Format::Json => format!("{:#}", comparison::json(&compared)),
        Format::Junit => comparison::junit(&compared),
        Format::Markdown => comparison::markdown(&compared),
    });
    Ok(end(&compared, args.strict))
}

fn opened(args: &CompareArgs, names: &str) -> Result<Vec<Opened>, Failed> {
    names.split(',').map(|name| Opened::find(&args.runs, Some(name.trim()))).collect()
}

fn runs(opened: &[Opened]) -> Result<Vec<Run>, Failed> {
    opened.iter().map(Opened::run).collect()
}

fn code_of(why: &NotComparable) -> ExitCode {
    match why {
        NotComparable::NothingToBelieve { .. } => ExitCode::NotValid,
        _ => ExitCode::Refused,
    }
}

/// Exit code of a comparison. Worse precedes unknown, and unknown precedes undecided.
fn end(compared: &Compared, strict: bool) -> ExitCode {
    let any = |finding| compared.count(finding) > 0;
    let unknown = || !compared.missing.is_empty() || compared.found().any(|(_, row)| row.is_without_pairs());
    match () {
        () if any(KeptFinding::Worse) || compared.breaks_rules => ExitCode::Regression,
        // No metric was compared, which is not a success.
        () if compared.metrics.is_empty() || unknown() => ExitCode::NotValid,
        () if strict && any(KeptFinding::Undecided) => ExitCode::Undecided,
        () => ExitCode::Fine,
    }
}
