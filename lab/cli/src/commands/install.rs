//! `barograph completions` and `barograph manual`: files for an installation, generated from the definition
//! of commands.

use anyhow::Context;
use barograph_record::ExitCode;
use clap::CommandFactory;

use super::{CommandFailure, CommandResult};
use crate::args::{Args, CompletionsArgs, ManualArgs};
use crate::terminal;

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "barograph", &mut text);
    terminal::result(String::from_utf8_lossy(&text).trim_end());
    Ok(ExitCode::Fine)
}

/// Writes a manual page for each command into a folder.
pub(crate) fn manual(args: &ManualArgs) -> CommandResult {
    let folder = &args.folder;
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Args::command(), folder));
    let written = written.with_context(|| format!("write manual pages into `{}`", folder.display()));
    written.map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    Ok(ExitCode::Fine)
}
