//! `barograph fill web-farm`: writes the static sets of servers.

use std::path::PathBuf;

use barograph_spec::MOST_INSTANCES;
use barograph_workload::{CommandError, Outside, Program};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::sets::Sets;

/// Writes the static sets of servers, each in a folder with its number.
#[derive(Args)]
struct FillArgs {
    /// Folder of the sets, made if there is none
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Number of servers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_INSTANCES as i64))]
    servers: u32,
    /// Start of all randomness: a seed repeats the sets
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// `fill`.
pub(crate) struct Fill;

impl Program for Fill {
    fn arguments(&self, command: Command) -> Command {
        FillArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, _: &Outside) -> Result<(), CommandError> {
        let args = FillArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let sets = Sets::new(args.seed).map_err(CommandError::refused)?;
        sets.write(&args.folder, args.servers).map_err(|why| {
            CommandError::refused(why).while_doing(format!("write sets to `{}`", args.folder.display()))
        })
    }
}
