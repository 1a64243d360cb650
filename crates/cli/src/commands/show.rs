//! `barograph show` and `barograph report`: a record as a table and as a page.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use barograph_record::{ExitCode, Run, write_whole};

use super::{Done, Failed};
use crate::args::RecordArgs;
use crate::terminal;

/// Prints a record's verdict.
pub(crate) fn show(args: &RecordArgs) -> Done {
    let run = open(args)?;
    terminal::result(&barograph_report::terminal_summary(&run));
    Ok(ExitCode::Fine)
}

/// Makes the report again.
pub(crate) fn report(args: &RecordArgs) -> Done {
    let run = open(args)?;
    let path = write_report(&run)?;
    terminal::result(&format!("report  {}", path.display()));
    Ok(ExitCode::Fine)
}

/// The record that is named, or the latest.
pub(super) fn open(args: &RecordArgs) -> Result<Run, Failed> {
    match &args.run {
        Some(name) => named(&args.runs, name),
        None => Ok(Run::open(&latest(&args.runs)?)?),
    }
}

/// The run of this name, or in the folder of this path.
pub(super) fn named(runs: &Path, name: &str) -> Result<Run, Failed> {
    let is_path = Path::new(name).join("run.jsonl").exists();
    Ok(Run::open(&if is_path { PathBuf::from(name) } else { runs.join(name) })?)
}

/// The latest run.
pub(super) fn latest(runs: &Path) -> Result<PathBuf, Failed> {
    let last = barograph_record::list(runs)?.into_iter().max();
    let last = last.ok_or_else(|| anyhow!("find a run in `{}`; `barograph run` makes one", runs.display()));
    last.map(|id| runs.join(id.as_str())).map_err(|why| Failed::new(ExitCode::Refused, why))
}

/// Writes `report.html` into the record, whole or not at all.
pub(crate) fn write_report(run: &Run) -> Result<PathBuf, Failed> {
    let html = barograph_report::render_html(run).map_err(|why| Failed::new(ExitCode::Bug, why))?;
    let path = run.dir.join("report.html");
    write_whole(&path, html.as_bytes()).map_err(|why| Failed::new(ExitCode::CannotWrite, why))?;
    Ok(path)
}
