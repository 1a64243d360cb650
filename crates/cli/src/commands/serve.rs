//! `barograph serve`: a node of the benchmark application.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, anyhow};
use barograph_auction::fill::Marker;
use barograph_auction::{Limits, Peers, Place, Role, Secret, ServeConfig, Stores};
use barograph_record::ExitCode;

use super::{Done, Failed};
use crate::args::{LogArg, RoleArg, ServeArgs, ServerArgs};
use crate::{machine, terminal};

/// Files the application holds beside its connections.
const OTHER_FILES: u64 = 200;

/// Serves until told to stop.
pub(crate) fn serve(args: &ServeArgs) -> Done {
    let refused = |why: anyhow::Error| Failed::new(ExitCode::Refused, why);
    let stores = stores(args)?;
    let images = images(args).map_err(refused)?;
    let peers = peers(args).map_err(refused)?;
    log(args).map_err(refused)?;
    let open_files = machine::raise_open_files();
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("listen at {}: choose a free port with --listen, or port 0", args.listen))
        .map_err(refused)?;
    let threads = if args.threads == 0 { machine::cores() } else { args.threads };
    let fit = open_files.saturating_sub(OTHER_FILES).max(1) as usize;
    let config = ServeConfig {
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
        max_connections: if args.max_connections == 0 { fit } else { args.max_connections as usize },
    };
    let (told, tell) = tokio::sync::oneshot::channel::<()>();
    if args.supervised {
        when_input_ends(move || drop(told));
    }
    let supervised = args.supervised;
    let shutdown = async move {
        tokio::select! {
            // Ends when the sender is dropped.
            _ = tell, if supervised => {}
            () = asked_to_end() => {}
        }
    };
    let ready = |address: SocketAddr| terminal::result(&format!(r#"{{"ready":true,"address":"{address}"}}"#));
    barograph_auction::serve(config, shutdown, ready)
        .map_err(|why| Failed::new(ExitCode::TargetNotReady, why))?;
    Ok(ExitCode::Fine)
}

/// Where users, auctions and events are.
fn stores(args: &ServeArgs) -> Result<Stores, Failed> {
    if let Some((relational, events)) = servers(&args.servers)? {
        return Ok(Stores::Servers { relational, events, connections: usize::from(args.connections) });
    }
    match (&args.data, &args.state) {
        (Some(data), Some(state)) => {
            holds_data(data)?;
            Ok(Stores::Embedded { data_dir: data.clone(), state_dir: state.clone() })
        }
        _ => Err(Failed::new(
            ExitCode::Refused,
            anyhow!("serve without --relational needs --data and --state"),
        )),
    }
}

/// The two database servers that are named, if any are.
pub(crate) fn servers(args: &ServerArgs) -> Result<Option<(Secret, Secret)>, Failed> {
    let refused = |why: anyhow::Error| Failed::new(ExitCode::Refused, why);
    let Some(relational) = &args.relational else { return Ok(None) };
    let relational = url("--relational", relational).map_err(refused)?;
    let events = match &args.events {
        Some(events) => url("--events", events).map_err(refused)?,
        None if relational.0.starts_with("postgres") => relational.clone(),
        None => {
            let why = "--relational is no PostgreSQL, so --events must say where bids and attendance are: \
                       postgres://... or mongodb://...";
            return Err(refused(anyhow!(why)));
        }
    };
    Ok(Some((relational, events)))
}

/// A URL as typed, or from the file that `@FILE` names.
pub(crate) fn url(option: &str, typed: &str) -> anyhow::Result<Secret> {
    let Some(file) = typed.strip_prefix('@') else { return Ok(Secret(typed.to_owned())) };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("read the URL of {option} from `{file}`"))?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return Err(anyhow!("read the URL of {option} from `{file}`: its first line is empty"));
    }
    Ok(Secret(line.to_owned()))
}

fn images(args: &ServeArgs) -> anyhow::Result<Place> {
    if let Some(typed) = &args.servers.images {
        let url = url("--images", typed)?;
        return url.0.parse().context("understand --images");
    }
    let data = args.data.as_ref().context("serve without --images needs --data, whose pictures it shows")?;
    let write = args.state.as_ref().map(|state| state.join("uploads"));
    Ok(Place::Files { read: data.join("images"), write })
}

fn peers(args: &ServeArgs) -> anyhow::Result<Option<Peers>> {
    let Some(typed) = &args.bus else { return Ok(None) };
    if args.servers.relational.is_none() {
        return Err(anyhow!("--bus is for nodes that share stores: name them with --relational"));
    }
    let bus = url("--bus", typed)?.0.parse().context("understand --bus")?;
    Ok(Some(Peers { bus, namespace: args.namespace.clone() }))
}

/// Events of the application go to standard error, which a harness keeps as the node's log.
fn log(args: &ServeArgs) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&args.log_level)
        .with_context(|| format!("understand --log-level `{}`", args.log_level))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    match args.log {
        LogArg::Text => log.init(),
        LogArg::Json => log.json().init(),
        LogArg::Off => {}
    }
    Ok(())
}

/// Refuses a folder without a whole data set, with the command that makes one.
pub(crate) fn holds_data(data: &Path) -> Result<Marker, Failed> {
    let make = format!("`barograph fill auction --data {} --size nano` makes one", data.display());
    let why = match Marker::read(data) {
        Ok(Some(marker)) => return Ok(marker),
        Ok(None) => anyhow!("serve the data in `{}`: it holds no whole data set; {make}", data.display()),
        Err(why) => {
            anyhow::Error::new(why).context(format!("serve the data in `{}`; {make}", data.display()))
        }
    };
    Err(Failed::new(ExitCode::Refused, why))
}

/// Ctrl-C or a polite kill.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Calls `then` when standard input ends, which it does when whoever supervises this process is gone.
pub(crate) fn when_input_ends(then: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        // What comes is of no interest, only that nothing comes any more.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        then();
    });
}
