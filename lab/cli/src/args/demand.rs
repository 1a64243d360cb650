//! Arguments of `barograph demand`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::RecordArgs;

/// Writes the demand curve of a study: the fewest nodes that hold each load, with intervals.
///
/// The study searches for the capacity of several numbers of nodes, as studies/auction-nodes.toml does. A plan names the file as
/// elasticity.demand.
#[derive(ClapArgs)]
pub(crate) struct DemandArgs {
    #[command(flatten)]
    pub(crate) record: RecordArgs,
    /// Factor whose levels are numbers of nodes, where there are several
    #[arg(long, value_name = "FACTOR")]
    pub(crate) factor: Option<String>,
    /// File to write; without one, the curve is printed
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
