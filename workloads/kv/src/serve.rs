//! `barograph serve kv`: the embedded store as a program of its own.

use std::net::SocketAddr;

use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::seam::KeyValue;
use crate::store::{Store, StoreOptions};

/// Open files beside its connections.
const OTHER_FILES: u64 = 32;

/// Serves a key-value store that keeps everything in memory and speaks RESP2 and RESP3.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:6380")]
    listen: SocketAddr,
    /// Memory for keys and values, in MiB; a write beyond it is refused
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    max_memory_mib: u64,
    /// Stop when standard input ends: how a harness takes its store along
    #[arg(long)]
    supervised: bool,
}

impl Program for KeyValue {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let open_files = (outside.raise_open_files)();
        let options = StoreOptions {
            listen: args.listen,
            max_bytes: args.max_memory_mib << 20,
            max_connections: open_files.saturating_sub(OTHER_FILES).max(1) as usize,
        };
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        let fault = |why: std::io::Error| CommandError::new(ExitCode::PlatformFault, why);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| fault(why).while_doing("start a runtime"))?;
        let served = tokio::task::LocalSet::new();
        served.block_on(&runtime, async {
            let store = Store::bind(&options).await.map_err(|why| {
                let what = format!("listen at {}: choose a free port with --listen, or port 0", args.listen);
                CommandError::refused(why).while_doing(what)
            })?;
            let address = store.address().map_err(fault)?;
            (outside.result)(&json!({ "ready": true, "address": address.to_string() }).to_string());
            tokio::select! {
                () = store.serve() => {}
                () = (outside.told_to_end)(supervision) => {}
            }
            Ok(())
        })
    }
}
