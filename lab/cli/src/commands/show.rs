//! `barograph show` and `barograph report`: a run or a study as a table and as a page.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use barograph_record::{ExitCode, Run, write_whole};

use super::record_folder::RecordFolder;
use super::{CommandFailure, CommandResult, study};
use crate::args::RecordArgs;
use crate::terminal;

/// Prints a record's verdict, or the conclusions of a study.
pub(crate) fn show(args: &RecordArgs) -> CommandResult {
    let opened = RecordFolder::find(&args.runs, args.run.as_deref())?;
    if opened.is_study() {
        let conclusions = study::again(&opened.folder)?;
        terminal::result(barograph_report::study::text(&conclusions).trim_end());
        return Ok(ExitCode::Fine);
    }
    terminal::result(&barograph_report::terminal_summary(&opened.run()?));
    Ok(ExitCode::Fine)
}

/// Writes the report of a run or a study again.
pub(crate) fn report(args: &RecordArgs) -> CommandResult {
    let opened = RecordFolder::find(&args.runs, args.run.as_deref())?;
    let path = if opened.is_study() {
        make(&opened.results)?;
        study::write_page(&opened.results, &study::again(&opened.folder)?)?
    } else {
        write_report(&opened.run()?, &opened.results)?
    };
    terminal::result(&format!("report  {}", path.display()));
    Ok(ExitCode::Fine)
}

/// The latest run.
pub(super) fn latest(runs: &Path) -> Result<PathBuf, CommandFailure> {
    let last = barograph_record::list(runs)?.into_iter().max();
    let last = last.ok_or_else(|| anyhow!("find a run in `{}`; `barograph run` makes one", runs.display()));
    last.map(|id| runs.join(id.as_str())).map_err(|why| CommandFailure::new(ExitCode::Refused, why))
}

/// Writes `report.html` into `folder` atomically; for several loads, one for each as well.
pub(crate) fn write_report(run: &Run, folder: &Path) -> Result<PathBuf, CommandFailure> {
    make(folder)?;
    for load in &run.loads {
        let below = load.dir.strip_prefix(&run.dir).unwrap_or(&load.dir);
        write_report(load, &folder.join(below))?;
    }
    let html = barograph_report::render_html(run).map_err(|why| CommandFailure::new(ExitCode::Bug, why))?;
    let path = folder.join("report.html");
    write_whole(&path, html.as_bytes()).map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    Ok(path)
}

/// Creates a folder for results.
fn make(folder: &Path) -> Result<(), CommandFailure> {
    let made =
        std::fs::create_dir_all(folder).with_context(|| format!("create folder `{}`", folder.display()));
    made.map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))
}
