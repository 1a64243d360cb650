//! Arguments of the command line.

mod compare;
mod demand;
mod drive;
mod format;
mod images;
mod install;
mod load_command;
mod program;
mod share;
mod study;
mod watch;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use compare::CompareArgs;
pub(crate) use demand::DemandArgs;
pub(crate) use drive::DriveArgs;
pub(crate) use format::Format;
pub(crate) use images::ImagesArgs;
pub(crate) use install::{CompletionsArgs, ManualArgs};
pub(crate) use load_command::{LoadCommandArgs, ResultFormat, TypedLoadCommand};
pub(crate) use program::TypedProgram;
pub(crate) use share::ShareArgs;
pub(crate) use study::StudyArgs;
pub(crate) use watch::{ExportArgs, WatchArgs, WatchedRunArgs};

/// Finds how much load a platform holds before users notice, and what gave way first.
#[derive(Parser)]
#[command(name = "barograph", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Exit codes, shown below the help.
const EXIT_CODES: &str = "Exit codes: 0 fine, 1 a fault of the tool, 2 refused, 3 the target was not ready or died, \
4 finished but a QoS rule did not hold, 5 worse than the baseline, 6 platform fault, 7 interrupted (results kept), 8 results cannot be written, \
9 finished but not valid, 10 undecided (--strict), 11 finished but the data checks found something wrong.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a plan: by default, search the most auction users this machine holds
    Run(WatchedRunArgs),
    /// Say what a plan would do, before anything happens
    Check(RunArgs),
    /// Answer a question by many runs: factors, random order, intervals, a verdict
    Study(Box<StudyArgs>),
    #[command(flatten)]
    OneLine(Box<TypedLoadCommand>),
    /// Change the load of a run that is on, ask how it stands, or end it in order
    Control(ControlArgs),
    /// Write a first scenario from an OpenAPI document, a recording of a browser, or a URL
    New(NewArgs),
    /// List workloads, platforms, sizes, plans, scenarios, studies, runs or the keys of a plan
    List(ListArgs),
    /// Show the record of a run or a study as a table
    Show(RecordArgs),
    /// Make the HTML report of a run or a study again
    Report(RecordArgs),
    /// Hold runs of a candidate against runs of a baseline
    Compare(CompareArgs),
    /// Write the demand curve of a study: the fewest nodes that hold each load
    Demand(DemandArgs),
    /// Write the files of a container image with the parts of a plan
    Images(ImagesArgs),
    /// Write the record of a run or a study as tables, one file each: CSV or Parquet
    Export(ExportArgs),
    /// Pack a record or a study into one file, to be sent or published
    Share(ShareArgs),
    /// Remove whatever interrupted runs left behind
    Clean(CleanArgs),
    #[command(flatten)]
    Program(TypedProgram),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Manual(ManualArgs),
    /// Make the load that a run elsewhere tells it to
    #[command(hide = true)]
    Drive(DriveArgs),
    /// Hold the packets of a link back
    #[command(hide = true)]
    Relay(Words),
    /// Run a command for a driver, and end it with the driver
    #[command(hide = true)]
    Supervise(Words),
    /// Make units inside a virtual machine
    #[command(hide = true)]
    Agent(Words),
}

/// Words for a part of the program that understands them itself.
#[derive(ClapArgs)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

#[derive(ClapArgs)]
pub(crate) struct RunArgs {
    /// Plan file; without one, the plan of the main job (plans/auction.toml)
    pub(crate) plan: Option<PathBuf>,
    /// Override a key of the plan: load.users=1000 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
}

#[derive(ClapArgs)]
pub(crate) struct ListArgs {
    /// What to list
    pub(crate) what: ListKind,
    /// Folder that holds the records
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ListKind {
    /// Kinds of load
    Workloads,
    /// Kinds of places where units run
    Platforms,
    /// What can be deployed, with the versions that are here
    Services,
    /// Sizes of data
    Sizes,
    /// Plan files in plans/
    Plans,
    /// Scenario files in scenarios/
    Scenarios,
    /// Study files in studies/
    Studies,
    /// Records
    Runs,
    /// Every key of a plan with its default and what is allowed
    Keys,
}

#[derive(ClapArgs)]
pub(crate) struct ControlArgs {
    /// Name of the run or path of its folder (without one, the latest), then: users=500, rate=2000 or, of several loads,
    /// scale=150, with over=10s if it should take time; or status; or stop
    #[arg(required = true, value_name = "[RUN] COMMAND")]
    pub(crate) words: Vec<String>,
    /// Folder that holds the records
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs)]
pub(crate) struct NewArgs {
    /// What to write
    pub(crate) what: NewKind,
    #[command(flatten)]
    pub(crate) from: NewFrom,
    /// Where the service answers, if not where the document says
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    pub(crate) target: Option<String>,
    /// Take pictures, styles, fonts and scripts of a recording along
    #[arg(long, requires = "from_har")]
    pub(crate) assets: bool,
    /// File to write; without one, the scenario is printed
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum NewKind {
    /// Users as small programs in a file
    Scenario,
}

/// What a first scenario is made from.
#[derive(ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct NewFrom {
    /// An OpenAPI 3 or Swagger 2.0 document in JSON or YAML
    #[arg(long, value_name = "FILE")]
    pub(crate) from_openapi: Option<PathBuf>,
    /// A HAR recording: in a browser's developer tools, network, "save all as HAR"
    #[arg(long, value_name = "FILE")]
    pub(crate) from_har: Option<PathBuf>,
    /// One page or endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct RecordArgs {
    /// Name of the run or the study, path of its folder, or a file of `barograph share`; without one, the latest run
    pub(crate) run: Option<String>,
    /// Folder that holds the records
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
}

#[derive(ClapArgs)]
pub(crate) struct CleanArgs {
    /// Folder that holds the records
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Remove the snapshots of loaded stores too, unless a run uses them
    #[arg(long)]
    pub(crate) snapshots: bool,
    /// Folder that holds data sets and snapshots
    #[arg(long, default_value = "data", requires = "snapshots")]
    pub(crate) data: PathBuf,
}
