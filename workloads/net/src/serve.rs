//! `barograph serve net`: the responder as a program of its own.

use std::net::SocketAddr;

use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::responder::Responder;
use crate::seam::Net;

/// Open files beside connections.
const OTHER_FILES: u64 = 32;

/// Most connections: each takes a thread.
const MOST: u64 = 10_000;

/// Serves the other end of network loads: takes streams, sends streams, and answers requests.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:5380")]
    listen: SocketAddr,
    /// Stop when standard input ends: how a harness takes its responder along
    #[arg(long)]
    supervised: bool,
}

impl Program for Net {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let open_files = (outside.raise_open_files)();
        let most = open_files.saturating_sub(OTHER_FILES).clamp(1, MOST);
        let responder = Responder::start(args.listen, most as usize).map_err(|why| {
            let what = format!("listen at {}: choose a free port with --listen, or port 0", args.listen);
            CommandError::refused(why).while_doing(what)
        })?;
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| CommandError::refused(why).while_doing("start a runtime"))?;
        (outside.result)(&json!({ "ready": true, "address": responder.address().to_string() }).to_string());
        runtime.block_on((outside.told_to_end)(supervision));
        Ok(())
    }
}
