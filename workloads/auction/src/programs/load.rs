//! `barograph load auction`: loads a filled data set into database servers.

use barograph_auction::load::{LoadPart, Servers, load as load_all};
use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::arguments::LoadArgs;
use super::{holds_data, place, servers};

/// The loading program.
pub(crate) struct Load;

impl Program for Load {
    fn arguments(&self, command: Command) -> Command {
        LoadArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        load(&LoadArgs::from_arg_matches(typed).map_err(CommandError::refused)?, outside)
    }
}

fn load(args: &LoadArgs, outside: &Outside) -> Result<(), CommandError> {
    let marker = holds_data(&args.data)?;
    let images = args.servers.images.as_deref().map(place).transpose()?;
    let stores = servers(&args.servers)?;
    if stores.is_none() && images.is_none() {
        return Err(CommandError::refused("load into what? Name --relational, --images or both"));
    }
    let servers = Servers { stores, images };
    let mut shown = None;
    let mut show = |part: LoadPart, done: u64, total: u64| {
        let tenth = done * 10 / total.max(1);
        if shown != Some((part, tenth)) {
            shown = Some((part, tenth));
            (outside.say)(&format!("{:<10} {done} of {total}", part.name()));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime
        .map_err(|why| CommandError::new(ExitCode::CannotWrite, why).while_doing("start the runtime"))?;
    let loaded = runtime.block_on(load_all(&args.data, &marker, &servers, &mut show));
    loaded.map_err(|why| CommandError::new(ExitCode::TargetNotReady, why))?;
    (outside.result)(&format!("loaded {} from {}", marker.describe(), args.data.display()));
    Ok(())
}
