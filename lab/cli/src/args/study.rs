//! Arguments of `barograph study`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Format;
use super::watch::WatchArgs;

#[derive(ClapArgs)]
pub(crate) struct StudyArgs {
    /// Study file (`barograph list studies`)
    #[arg(required_unless_present = "resume")]
    pub(crate) study: Option<PathBuf>,
    /// Say what would be run, in which order, for how long, and what this machine lacks for it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Go on with a study that was stopped or killed: its name
    #[arg(long, value_name = "ID", conflicts_with_all = ["study", "sets", "repeats", "only"])]
    pub(crate) resume: Option<String>,
    /// Override a key of the plan in all configurations: load.window_s=60 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Blocks, in place of those of the study
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeats: Option<u32>,
    /// Run only these levels of a factor: platform=process,container (may be given often)
    #[arg(long, value_name = "FACTOR=LEVELS")]
    pub(crate) only: Vec<String>,
    /// What is printed at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// For CI: end with 5 when something is worse than its baseline or broke rules that its baseline kept, and with 9 when a
    /// metric has no pair
    #[arg(long)]
    pub(crate) gate: bool,
    /// With --gate: end with 10 when a comparison is undecided, and none is worse
    #[arg(long, requires = "gate")]
    pub(crate) strict: bool,
    /// Folder that holds the records; a study has a folder in it
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}
