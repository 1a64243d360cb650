//! Arguments of `barograph compare`.

use std::path::PathBuf;

use barograph_model::Share;
use barograph_workload::typed::share;
use clap::Args as ClapArgs;

use super::Format;

/// Holds a candidate against a baseline, metric by metric.
///
/// One run a side says how far apart they are and no more. Several, separated by commas and in the order in which they were
/// made, are paired: the first with the first. A pair should be two runs one shortly after the other. Ends with 5 when a
/// metric is worse or the candidate broke rules that the baseline kept, with 9 when only one side has a metric, and with
/// --strict with 10 when one is undecided and none is worse.
#[derive(ClapArgs)]
pub(crate) struct CompareArgs {
    /// Names of runs, paths of their folders, or files of `barograph share`, separated by commas: what is known
    pub(crate) baseline: String,
    /// The same number of runs in the same order: what is new
    pub(crate) candidate: String,
    /// Folder that holds the records
    #[arg(long, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Keys of the plan in which the two may differ; one stands for all below it: --allow deploy,load.users
    #[arg(long, value_name = "KEY,..", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// A difference that does not count, as a share; stated before the runs are made
    #[arg(long, default_value = "1%", value_parser = share, value_name = "SHARE")]
    pub(crate) margin: Share,
    /// What is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// End with 10 when a metric is undecided
    #[arg(long)]
    pub(crate) strict: bool,
}
