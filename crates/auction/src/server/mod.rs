//! The HTTP server: accepts connections, limits them, and ends in good order.

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
mod traffic;
mod ui;
mod users;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::connection::{DRAIN_LIMIT, Gate};
use crate::app::{App, StartError};
use crate::cluster;
use crate::settings::ServeConfig;

/// Connections that the system may hold for us to accept: a ramp opens thousands in the same instant.
const BACKLOG: i32 = 4096;
/// Open files asked of the system; every connection is one.
const FILE_LIMIT: u64 = 1_000_000;

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The application could not start.
    #[error("the application cannot start")]
    Start(#[from] StartError),
    /// The system refused a thread, a socket option or the like.
    #[error("cannot {what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A store failed during the run; what was decided after it is not stored.
    #[error("a store failed: {0}")]
    Trouble(String),
}

fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> ServeError {
    move |source| ServeError::System { what, source: source.into() }
}

/// Serves until `shutdown` is done, then stops in order: accepts no more, hands its auctions over, lets pollers go,
/// finishes requests, writes what is decided. `ready` gets the address when the application answers there.
///
/// # Errors
/// When the application cannot start, and when a store failed during the run.
pub fn serve(
    config: ServeConfig,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    raise_file_limit();
    rustix::net::listen(&config.listener, BACKLOG).map_err(system("listen"))?;
    config.listener.set_nonblocking(true).map_err(system("make the listener non-blocking"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.threads.max(1))
        .thread_name("auction")
        .enable_all()
        .build()
        .map_err(system("start the runtime"))?;
    let (result, files) = runtime.block_on(async {
        let (app, background) = App::start(&config).await?;
        let connections = config.max_connections;
        let listener =
            tokio::net::TcpListener::from_std(config.listener).map_err(system("use the listener"))?;
        let address = listener.local_addr().map_err(system("read the listener's address"))?;
        let gate = Gate::new(listener, router::router(Arc::clone(&app)), connections);
        ready(address);
        gate.accept_until(shutdown).await;
        cluster::hand_over(&app).await;
        app.channels.stop();
        gate.close().await;
        let files = app.stop(background).await;
        let trouble = app.broken.get();
        Ok::<_, ServeError>((trouble.map_or(Ok(()), |t| Err(ServeError::Trouble(t))), files))
    })?;
    // Connections that did not finish in time hold the stores; they end with the runtime.
    runtime.shutdown_timeout(DRAIN_LIMIT);
    if let Some(files) = files {
        files.join();
    }
    result
}

/// Asks for as many files as the system gives; fewer are no reason not to start, connections beyond them wait.
fn raise_file_limit() {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: Some(FILE_LIMIT.max(now.current.unwrap_or(0))),
        maximum: Some(FILE_LIMIT.max(now.maximum.unwrap_or(0))),
    };
    if setrlimit(Resource::Nofile, raised).is_err() {
        // Raising the hard limit is a privilege; raising the soft one up to it is not.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    }
}
