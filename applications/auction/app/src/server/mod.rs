//! The HTTP server: accepts connections, limits them, and stops in order.

mod auctions;
mod bids;
mod connection;
mod error;
mod events;
mod extract;
mod heads;
mod items;
mod metrics;
mod operations;
mod pictures;
mod respond;
mod router;
#[cfg(test)]
mod tests;
mod threads;
mod traffic;
mod ui;
mod users;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use self::connection::{DRAIN_LIMIT, Phase};
use self::threads::ThreadContext;
use crate::app::{App, StartError};
use crate::cluster;
use crate::settings::ServeConfig;

/// Connections that may wait to be accepted: a ramp opens thousands in the same instant.
const BACKLOG: u32 = 4096;
/// Threads for the work beside connections that have threads of their own: the auctioneer, and storing its
/// decisions.
const BACKGROUND_THREADS: usize = 2;

/// Reason for the end of the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The application could not start.
    #[error("the application cannot start")]
    Start(#[from] StartError),
    /// The system refused a thread, a socket option or the like.
    #[error("cannot {what}")]
    System {
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A store failed during the run; later decisions are not stored.
    #[error("a store failed: {0}")]
    Trouble(String),
}

fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> ServeError {
    move |source| ServeError::System { what, source: source.into() }
}

/// Serves until `shutdown` completes, then stops in order: refuses connections, hands its auctions over, ends
/// polls, finishes requests, stores all decisions. `ready` receives the address when the application answers
/// there.
///
/// # Errors
/// If the application cannot start, and if a store failed during the run.
pub fn serve(
    config: ServeConfig,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let own = if config.is_of_files() { threads::runtimes(threads::count(&config))? } else { Vec::new() };
    let workers = if own.is_empty() { config.threads.max(1) } else { BACKGROUND_THREADS };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("auction")
        .enable_all()
        .build()
        .map_err(system("start the runtime"))?;
    let (app, background) = runtime.block_on(App::start(&config))?;
    let address = config.listener.local_addr().map_err(system("read the listener's address"))?;
    let (router, traffic) = router::router(Arc::clone(&app));
    let (phases, phase) = watch::channel(Phase::Accepting);
    let (open, mut ended) = mpsc::channel(1);
    let front = ThreadContext { router, traffic, phase, open, max_connections: config.max_connections };
    begin(&runtime, own, config.listener, front)?;
    let (result, files) = runtime.block_on(async {
        ready(address);
        shutdown.await;
        phases.send_replace(Phase::Serving);
        cluster::hand_over(&app).await;
        app.channels.stop();
        phases.send_replace(Phase::Closing);
        // Nothing is ever sent: the channel closes when the last part of the server ends.
        let _ = ended.recv().await;
        let files = app.stop(background).await;
        let trouble = app.broken.get();
        (trouble.map_or(Ok(()), |t| Err(ServeError::Trouble(t))), files)
    });
    drop(app);
    // Connections that did not finish in time hold the stores; they end with the runtime.
    runtime.shutdown_timeout(DRAIN_LIMIT);
    if let Some(files) = files {
        files.join();
    }
    result
}

/// Starts accepting connections: in threads of their own where there are runtimes for them, else in the main
/// runtime.
fn begin(
    runtime: &Runtime,
    own: Vec<Runtime>,
    listener: TcpListener,
    front: ThreadContext,
) -> Result<(), ServeError> {
    listener.set_nonblocking(true).map_err(system("make the listener non-blocking"))?;
    if !own.is_empty() {
        threads::share_address(&listener)?;
    }
    rustix::net::listen(&listener, BACKLOG as i32).map_err(system("listen"))?;
    if !own.is_empty() {
        return threads::start(own, listener, &front);
    }
    let _within = runtime.enter();
    let listener = tokio::net::TcpListener::from_std(listener).map_err(system("use the listener"))?;
    let room = threads::room_of_table(runtime.metrics().num_workers()).min(front.max_connections);
    runtime.spawn(async move {
        front.gate(listener).serve(room).await;
        drop(front);
    });
    Ok(())
}
