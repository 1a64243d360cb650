//! `barograph share`: packs a record into one file, after a check for private data.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use barograph_record::ExitCode;
use barograph_share::{Finding, Inspection, Limits, ShareError, inspect, members, pack};

use super::record_folder::RecordFolder;
use super::{CommandFailure, CommandResult};
use crate::args::ShareArgs;
use crate::{machine, terminal};

/// Largest number of findings shown.
const MOST_TOLD: usize = 30;

/// Checks a record and packs it.
pub(crate) fn share(args: &ShareArgs) -> CommandResult {
    let opened = RecordFolder::find(&args.record.runs, args.record.run.as_deref())?;
    let files = members(&opened.folder).map_err(failed)?;
    let inspection = inspect(&files, &machine::names(&opened.folder), &args.allow).map_err(failed)?;
    tell(&inspection);
    refuse(&inspection).map_err(|why| CommandFailure::new(ExitCode::Refused, why))?;
    let name = name_of(&opened.folder);
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.zst")));
    pack(&name, &files, &file, &Limits::default()).map_err(failed)?;
    terminal::result(&format!("shared  {} ({} files)", file.display(), files.len()));
    terminal::say("read it with `barograph report FILE`, `show FILE`, `compare FILE FILE` or `export FILE`");
    Ok(ExitCode::Fine)
}

/// Name of a record: that of its folder, by any path to it.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "record".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn tell(inspection: &Inspection) {
    for Finding { file, line, kind, text } in inspection.findings.iter().take(MOST_TOLD) {
        terminal::say(format!("{file}:{line}  {}  {text}", kind.name()).trim_end());
    }
    if inspection.count > MOST_TOLD {
        terminal::say(&format!("and {} more", inspection.count - MOST_TOLD));
    }
}

fn refuse(inspection: &Inspection) -> anyhow::Result<()> {
    if inspection.count == 0 {
        return Ok(());
    }
    let mut kinds: Vec<&str> = inspection.findings.iter().map(|finding| finding.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let (count, kinds) = (inspection.count, kinds.join(","));
    bail!(
        "share the record: it holds what should stay on this machine (findings: {count}); `--allow {kinds}` shares it all the same"
    )
}

fn failed(why: ShareError) -> CommandFailure {
    let code = match why {
        ShareError::Write { .. } => ExitCode::CannotWrite,
        _ => ExitCode::Refused,
    };
    CommandFailure { code, why: anyhow!(why) }
}
