//! The HTTP server: accepts connections, limits them, and ends in good order.

mod auctions;
mod bids;
mod error;
mod extract;
mod items;
mod operations;
mod respond;
mod router;
#[cfg(test)]
mod tests;
mod users;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use crate::app::{App, Places, StartError};

/// Connections that the system may hold for us to accept: a ramp opens thousands in the same instant.
const BACKLOG: i32 = 4096;
/// Open files asked of the system; every connection is one.
const FILE_LIMIT: u64 = 1_000_000;
/// Bytes a connection may buffer: an image is sent past the buffer, a request is far smaller.
const BUFFER_BYTES: usize = 16 * 1024;
/// How long connections may take to finish what they do when the server ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, so that a lack of files does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What the server is to use.
#[derive(Debug)]
pub struct ServeConfig {
    /// Where connections come in; bound by the caller, port 0 is fine.
    pub listener: TcpListener,
    /// A filled folder, see [`crate::fill`]. It is only read.
    pub data_dir: PathBuf,
    /// A folder for this run's copies of the stores. What an earlier run left there is overwritten.
    pub state_dir: PathBuf,
    /// Threads that serve requests, at least 1.
    pub threads: usize,
    /// Bytes of thumbnails and previews kept in memory.
    pub cache_bytes: u64,
    /// Connections open at once; more wait until one closes.
    pub max_connections: usize,
}

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

/// Serves until `shutdown` is done, then stops in order: accepts no more, lets pollers go, finishes requests, writes
/// what is decided. `ready` gets the address when the application answers there.
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
    let places = Places {
        data_dir: config.data_dir,
        state_dir: config.state_dir,
        cache_bytes: config.cache_bytes,
        // One per thread and one to spare, so that nobody waits while a check or a start reads.
        readers: config.threads.max(1) + 1,
    };
    let connections = config.max_connections;
    let (result, threads) = runtime.block_on(async {
        let (app, background, threads) = App::start(&places).await?;
        let listener =
            tokio::net::TcpListener::from_std(config.listener).map_err(system("use the listener"))?;
        ready(listener.local_addr().map_err(system("read the listener's address"))?);
        accept_until(&app, &listener, connections, shutdown).await;
        app.stop(background).await;
        let trouble = app.trouble.get();
        Ok::<_, ServeError>((trouble.map_or(Ok(()), |t| Err(ServeError::Trouble(t))), threads))
    })?;
    // Connections that did not finish in time hold the stores; they end with the runtime.
    runtime.shutdown_timeout(DRAIN_LIMIT);
    threads.join();
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

async fn accept_until(
    app: &Arc<App>,
    listener: &tokio::net::TcpListener,
    max_connections: usize,
    shutdown: impl Future<Output = ()>,
) {
    let router = router::router(Arc::clone(app));
    let (closing, closed) = watch::channel(false);
    let room = u32::try_from(max_connections.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
    let free = Arc::new(Semaphore::new(room as usize));
    let accept = async {
        loop {
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = serve_connection(stream, router.clone(), closed.clone());
                    tokio::spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = shutdown => {}
    }
    app.bus.stop();
    // Nobody listens when there are no connections, which is fine.
    let _ = closing.send(true);
    let _ = tokio::time::timeout(DRAIN_LIMIT, free.acquire_many(room)).await;
}

/// Serves one connection until its peer closes it or the server ends.
async fn serve_connection(stream: TcpStream, router: Router, mut closing: watch::Receiver<bool>) {
    // Without this an answer could wait for the acknowledgement of the one before. Works without it as well.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .max_buf_size(BUFFER_BYTES)
        .keep_alive(true)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let closing = async move {
        // The guard must not live on: it is not for two threads.
        let _ = closing.wait_for(|closing| *closing).await.is_ok();
    };
    // Errors of a connection are its peer's business: it closed early or sent what is not HTTP.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closing => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
