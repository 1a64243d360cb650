//! `barograph serve web-farm`: the static server as a program of its own.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::server::StaticServer;

/// Open files beside its connections.
const OTHER_FILES: u64 = 32;

/// Serves the files of a folder from memory by HTTP.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Folder of the files; folders in it are left out
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Stop when standard input ends: how a harness takes its server along
    #[arg(long)]
    supervised: bool,
}

/// `serve`.
pub(crate) struct Serve;

impl Program for Serve {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let most = (outside.raise_open_files)().saturating_sub(OTHER_FILES).max(1) as usize;
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        let fault = |why: io::Error| CommandError::new(ExitCode::PlatformFault, why);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| fault(why).while_doing("start a runtime"))?;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let server = StaticServer::bind(args.listen, &args.folder, most).await.map_err(|why| {
                let what = format!("serve `{}` at {}", args.folder.display(), args.listen);
                CommandError::refused(why).while_doing(what)
            })?;
            let address = server.address().map_err(fault)?;
            (outside.result)(&json!({ "ready": true, "address": address.to_string() }).to_string());
            tokio::select! {
                () = server.serve() => {}
                () = (outside.told_to_end)(supervision) => {}
            }
            Ok(())
        })
    }
}
