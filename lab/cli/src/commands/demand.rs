//! `barograph demand`: the demand curve of a study, as a file that plans name.

use anyhow::{Context, anyhow};
use barograph_record::{ExitCode, Run, write_whole};

use super::record_folder::RecordFolder;
use super::{CommandFailure, CommandResult, study};
use crate::args::DemandArgs;
use crate::terminal;

/// Writes or prints the curve.
pub(crate) fn demand(args: &DemandArgs) -> CommandResult {
    let refused = |why: anyhow::Error| CommandFailure::new(ExitCode::Refused, why);
    let opened = RecordFolder::find(&args.record.runs, args.record.run.as_deref())?;
    if !opened.is_study() {
        let folder = opened.folder.display();
        return Err(refused(anyhow!(
            "find a study in `{folder}`; the curve follows from one, not from a run"
        )));
    }
    let conclusions = study::again(&opened.folder)?;
    let runs = study::runs_of(&opened.folder);
    let believed = |run: &str| {
        let capacity = Run::open(&runs.join(run)).ok()?.believed_capacity()?;
        Some((capacity.low, capacity.high))
    };
    let file = barograph_study::demand(&conclusions, args.factor.as_deref(), believed);
    let file = file.map_err(|why| refused(why.into()))?;
    let text = file.text();
    let Some(path) = &args.output else {
        terminal::result(text.trim_end());
        return Ok(ExitCode::Fine);
    };
    let written = write_whole(path, text.as_bytes()).with_context(|| format!("write `{}`", path.display()));
    written.map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    let points = file.curve.points().len();
    terminal::result(&format!("demand  {} ({points} numbers of nodes)", path.display()));
    Ok(ExitCode::Fine)
}
