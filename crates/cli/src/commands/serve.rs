//! `barograph serve`: the benchmark application on its own; and what the harness asks it.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use barograph_auction::ServeConfig;
use barograph_auction::fill::Marker;
use barograph_auction_api::{CheckReport, routes};
use barograph_http::{Client, Method, Policy, Request, Resolved};
use barograph_record::ExitCode;

use super::{Done, Failed};
use crate::args::ServeArgs;
use crate::{machine, terminal};

/// Memory for thumbnails and previews.
const CACHE_BYTES: u64 = 512 * 1024 * 1024;

/// Files the application holds beside its connections.
const OTHER_FILES: u64 = 200;

/// The data checks read every row a run has made.
const CHECK_TIMEOUT: Duration = Duration::from_secs(120);

/// Serves until told to stop.
pub(crate) fn serve(args: &ServeArgs) -> Done {
    holds_data(&args.data)?;
    let open_files = machine::raise_open_files();
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("listen at {}: choose a free port with --listen, or port 0", args.listen))
        .map_err(|why| Failed::new(ExitCode::Refused, why))?;
    let threads = if args.threads == 0 { machine::cores() } else { args.threads };
    let config = ServeConfig {
        listener,
        data_dir: args.data.clone(),
        state_dir: args.state.clone(),
        threads,
        cache_bytes: CACHE_BYTES,
        max_connections: open_files.saturating_sub(OTHER_FILES).max(1) as usize,
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

/// Refuses a folder without a whole data set, with the command that makes one.
fn holds_data(data: &Path) -> Result<(), Failed> {
    let make = format!("`barograph fill auction --data {} --size nano` makes one", data.display());
    let why = match Marker::read(data) {
        Ok(Some(_)) => return Ok(()),
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

/// Asks the application at `target` whether its data is right. Blocks.
pub(crate) fn ask_check(target: SocketAddr) -> Result<CheckReport, String> {
    // The client knows no clock: its thread is left behind when it takes too long.
    let (answer, asked) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let report = barograph_reactor::block_on(ask(target)).map_err(anyhow::Error::new).flatten();
        // Nobody waits any more when the time is over.
        let _ = answer.send(report);
    });
    match asked.recv_timeout(CHECK_TIMEOUT) {
        Ok(report) => report.map_err(|why| format!("{why:#}")),
        Err(_) => Err(format!("no answer within {} s", CHECK_TIMEOUT.as_secs())),
    }
}

async fn ask(target: SocketAddr) -> anyhow::Result<CheckReport> {
    let connections = Client::new(&Resolved::at(target, Policy::PerUser(1))).user(0);
    let path = routes::check();
    let request = Request { method: Method::GET, path: format_args!("{path}"), headers: &[], body: None };
    let answer = connections.send(&request).await?;
    if answer.status != 200 {
        return Err(anyhow!("{path} answered {}", answer.status));
    }
    serde_json::from_slice(answer.body()).context("read the report of the data checks")
}
