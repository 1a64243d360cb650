//! Arguments of the commands that an installation runs.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

#[derive(ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(ClapArgs)]
pub(crate) struct ManualArgs {
    /// Folder for the pages
    pub(crate) folder: PathBuf,
}
