//! `barograph serve auction`: a node of the application.

use std::net::{SocketAddr, TcpListener};

use barograph_auction::{Limits, Peers, PictureLocation, Role, ServeConfig, Stores};
use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use tracing_subscriber::EnvFilter;

use super::arguments::{LogArg, RoleArg, ServeArgs};
use super::{attempted, holds_data, place, servers, url};

/// The serving program, which runs until it is stopped.
pub(crate) struct Serve;

impl Program for Serve {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let config = config(&args, outside)?;
        let by = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        let result = outside.result;
        let ready = |address: SocketAddr| result(&format!(r#"{{"ready":true,"address":"{address}"}}"#));
        let end = (outside.told_to_end)(by);
        barograph_auction::serve(config, end, ready)
            .map_err(|why| CommandError::new(ExitCode::TargetNotReady, why))
    }
}

fn config(args: &ServeArgs, outside: &Outside) -> Result<ServeConfig, CommandError> {
    let stores = stores(args)?;
    let images = images(args)?;
    let peers = peers(args)?;
    log(args)?;
    (outside.raise_open_files)();
    let listener = TcpListener::bind(args.listen).map_err(|why| {
        attempted(format!("listen at {}: choose a free port with --listen, or port 0", args.listen), why)
    })?;
    let threads = if args.threads == 0 { outside.cores } else { args.threads };
    Ok(ServeConfig {
        listener,
        node: args.node.clone(),
        role: match args.role {
            RoleArg::All => Role::All,
            RoleArg::Application => Role::Application,
            RoleArg::Bids => Role::Bids,
        },
        stores,
        images,
        image_limits: Limits {
            cache_bytes: u64::from(args.cache_mib) << 20,
            queue: args.upload_queue as usize,
            ..Limits::default()
        },
        peers,
        threads,
        room_for: args.room_for,
        max_connections: if args.max_connections == 0 { usize::MAX } else { args.max_connections as usize },
    })
}

/// The stores given in the arguments.
fn stores(args: &ServeArgs) -> Result<Stores, CommandError> {
    if let Some((relational, events)) = servers(&args.servers)? {
        return Ok(Stores::Servers { relational, events, connections: usize::from(args.connections) });
    }
    match (&args.data, &args.state) {
        (Some(data), Some(state)) => {
            holds_data(data)?;
            Ok(Stores::Embedded { data_dir: data.clone(), state_dir: state.clone() })
        }
        _ => Err(CommandError::refused("serve without --relational needs --data and --state")),
    }
}

fn images(args: &ServeArgs) -> Result<PictureLocation, CommandError> {
    if let Some(typed) = &args.servers.images {
        return place(typed);
    }
    let no_data = || CommandError::refused("serve without --images needs --data, whose pictures it shows");
    let data = args.data.as_ref().ok_or_else(no_data)?;
    let write = args.state.as_ref().map(|state| state.join("uploads"));
    Ok(PictureLocation::Files { read: data.join("images"), write })
}

fn peers(args: &ServeArgs) -> Result<Option<Peers>, CommandError> {
    let Some(typed) = &args.bus else { return Ok(None) };
    if args.servers.relational.is_none() {
        let why = "--bus is for nodes that share stores: name them with --relational";
        return Err(CommandError::refused(why));
    }
    let bus = url("--bus", typed)?.0.parse().map_err(|why| attempted("understand --bus", why))?;
    Ok(Some(Peers { bus, namespace: args.namespace.clone() }))
}

/// Sends the application's log to standard error, which a harness keeps as the node's log.
fn log(args: &ServeArgs) -> Result<(), CommandError> {
    let filter = EnvFilter::try_new(&args.log_level)
        .map_err(|why| attempted(format!("understand --log-level `{}`", args.log_level), why))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    match args.log {
        LogArg::Text => log.init(),
        LogArg::Json => log.json().init(),
        LogArg::Off => {}
    }
    Ok(())
}
