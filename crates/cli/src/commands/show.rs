//! `barograph show` and `barograph report`: the record of a run or a study as a table and as a page.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use barograph_record::{ExitCode, Run, write_whole};

use super::{Done, Failed, study};
use crate::args::RecordArgs;
use crate::terminal;

/// Prints a record's verdict, or what follows from a study.
pub(crate) fn show(args: &RecordArgs) -> Done {
    if let Some(folder) = study_of(args) {
        let conclusions = study::again(&folder)?;
        terminal::result(barograph_report::study::text(&conclusions).trim_end());
        return Ok(ExitCode::Fine);
    }
    let run = open(args)?;
    terminal::result(&barograph_report::terminal_summary(&run));
    Ok(ExitCode::Fine)
}

/// Makes the report of a run or a study again.
pub(crate) fn report(args: &RecordArgs) -> Done {
    let path = match study_of(args) {
        Some(folder) => study::write_page(&folder, &study::again(&folder)?)?,
        None => write_report(&open(args)?)?,
    };
    terminal::result(&format!("report  {}", path.display()));
    Ok(ExitCode::Fine)
}

/// The folder of the study that is named.
pub(super) fn study_of(args: &RecordArgs) -> Option<PathBuf> {
    args.run.as_deref().and_then(|name| study::named(&args.runs, name))
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

/// Writes `report.html` into the record, whole or not at all; of several loads one for each as well.
pub(crate) fn write_report(run: &Run) -> Result<PathBuf, Failed> {
    for load in &run.loads {
        write_report(load)?;
    }
    let html = barograph_report::render_html(run).map_err(|why| Failed::new(ExitCode::Bug, why))?;
    let path = run.dir.join("report.html");
    write_whole(&path, html.as_bytes()).map_err(|why| Failed::new(ExitCode::CannotWrite, why))?;
    Ok(path)
}
