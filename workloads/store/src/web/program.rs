//! `barograph serve store`: a node of the web tier as a program of its own.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_database_engines::{DURABILITIES, DatabaseSettings, ISOLATIONS, ServerParts};
use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;
use tokio::net::TcpListener;

use super::server;
use super::sessions::{NodeDatabase, NodeError, start};
use crate::seam::Store;

/// Serves the operations of a web store over HTTP, on a database that is filled.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Database: sqlite:///PATH/FILE, postgres://USER@HOST/NAME or mysql://USER@HOST/NAME
    #[arg(long, value_name = "URL")]
    database: String,
    /// Sessions of the database, each with a thread
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    sessions: u32,
    /// Threads for HTTP; 0 takes one for each core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Whether a commit waits for the disk
    #[arg(long, default_value = DURABILITIES[0], value_parser = PossibleValuesParser::new(DURABILITIES))]
    durability: String,
    /// Isolation of transactions on a server
    #[arg(long, default_value = ISOLATIONS[0], value_parser = PossibleValuesParser::new(ISOLATIONS))]
    isolation: String,
    /// Writers of SQLite ask for the lock again and again, and do not wait in a queue
    #[arg(long)]
    no_queue: bool,
    /// Longest wait for a lock in milliseconds, after which a transaction is tried again
    #[arg(long, default_value_t = 5_000)]
    busy_ms: u64,
    /// Stop when standard input ends: how a harness takes its nodes along
    #[arg(long)]
    supervised: bool,
}

impl ServeArgs {
    fn database(&self) -> NodeDatabase {
        let isolation = ISOLATIONS.into_iter().find(|level| *level == self.isolation);
        let settings = DatabaseSettings {
            database: "",
            is_durable: self.durability == DURABILITIES[0],
            is_queued: !self.no_queue,
            isolation: isolation.unwrap_or(ISOLATIONS[0]),
            busy: Duration::from_millis(self.busy_ms),
            parts: ServerParts::default(),
        };
        NodeDatabase { url: self.database.clone(), settings, sessions: self.sessions }
    }
}

impl Program for Store {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        (outside.raise_open_files)();
        let jobs = start(&args.database()).map_err(|why| match why {
            NodeError::Address(_) => CommandError::refused(why),
            _ => CommandError::new(ExitCode::TargetNotReady, why),
        })?;
        let fault = |why: std::io::Error| CommandError::new(ExitCode::PlatformFault, why);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(if args.threads == 0 { outside.cores } else { args.threads })
            .enable_all()
            .build()
            .map_err(|why| fault(why).while_doing("start a runtime"))?;
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        runtime.block_on(async {
            let listener = TcpListener::bind(args.listen).await.map_err(|why| {
                let what = format!("listen at {}: choose a free port with --listen, or port 0", args.listen);
                CommandError::refused(why).while_doing(what)
            })?;
            let address = listener.local_addr().map_err(fault)?;
            (outside.result)(&json!({ "ready": true, "address": address.to_string() }).to_string());
            server::serve(listener, jobs, (outside.told_to_end)(supervision)).await.map_err(fault)
        })
    }
}
