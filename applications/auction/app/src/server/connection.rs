//! Connections: their number, their time limits, and their end.
//!
//! The resources that a hostile or broken peer can hold are bounded in each direction. A connection without
//! input is closed after [`REST`], a request head that does not arrive whole ends it after [`HEAD_TIME`], a
//! body that does not arrive in time is refused where it is read, and a connection whose answers are not
//! taken is closed by the system after [`UNTAKEN_MS`]. Polls and streams that wait are exempt.
//!
//! [`HEAD_TIME`]: super::heads::HEAD_TIME

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::heads::{Stage, StageService, TimeoutStream};
use super::traffic::Traffic;

/// Buffer size of a connection in bytes: images are sent past the buffer, requests are far smaller. A longer
/// head is refused.
pub(super) const BUFFER_BYTES: usize = 16 * 1024;
/// Longest rest between two requests, and before the first one. Proxies in front keep connections for 300 s;
/// being longer, this makes the proxy end the connection, so that it never sends a request on one that is
/// being closed.
pub(super) const REST: Duration = Duration::from_secs(330);
/// Time limit, in milliseconds, for the peer to acknowledge sent bytes and to make room for more: as long as
/// a client waits for an answer.
const UNTAKEN_MS: u32 = 60_000;
/// Time limit for connections to finish their requests when the server ends.
pub(super) const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, so that a lack of open files does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Phases of a server, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// New connections are accepted.
    Accepting,
    /// Open connections are still served.
    Serving,
    /// Requests received so far are answered, and connections close.
    Closing,
}

/// Waits for `wanted` or a later phase, or for the end of the server.
async fn reached(mut phase: watch::Receiver<Phase>, wanted: Phase) {
    // The guard must not live on: it cannot be sent between threads.
    let _ = phase.wait_for(|now| *now >= wanted).await.is_ok();
}

/// A listener with the settings of its connections.
pub(super) struct ConnectionAcceptor {
    pub(super) listener: TcpListener,
    pub(super) router: Router,
    pub(super) traffic: Arc<Traffic>,
    pub(super) phase: watch::Receiver<Phase>,
}

impl ConnectionAcceptor {
    /// Serves up to `room` connections at once until the server closes, and for a bounded time after.
    pub(super) async fn serve(self, room: usize) {
        let room = u32::try_from(room.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(room as usize));
        tokio::select! {
            () = self.accept(&free) => {}
            () = reached(self.phase.clone(), Phase::Serving) => {}
        }
        reached(self.phase.clone(), Phase::Closing).await;
        // Other tables of open files hold the socket too: closing it here would not end it.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Read);
        let all = free.acquire_many(room);
        if tokio::time::timeout(DRAIN_LIMIT, all).await.is_err() {
            let open = room as usize - free.available_permits();
            tracing::warn!(open, "connections did not finish in time and are cut");
        }
    }

    async fn accept(&self, free: &Arc<Semaphore>) {
        loop {
            let Ok(permit) = Arc::clone(free).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    prepare(&stream);
                    let connected = self.traffic.connected();
                    let connection = serve_connection(stream, self.router.clone(), self.phase.clone());
                    tokio::spawn(async move {
                        connection.await;
                        drop((connected, permit));
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Sets options of a connection. Failures are ignored; it works without them as well.
fn prepare(stream: &TcpStream) {
    // Otherwise an answer could wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, UNTAKEN_MS);
}

/// Serves one connection until its peer closes it or the server ends.
pub(super) async fn serve_connection<C>(stream: C, router: Router, phase: watch::Receiver<Phase>)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stage = Stage::default();
    let service = StageService::new(TowerToHyperService::new(router), stage.clone());
    let connection = http1::Builder::new()
        .max_buf_size(BUFFER_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(REST)
        .keep_alive(true)
        .serve_connection(TokioIo::new(TimeoutStream::new(stream, stage)), service);
    let mut connection = std::pin::pin!(connection);
    // Errors of a connection are the peer's: it closed early or sent something other than HTTP.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = reached(phase, Phase::Closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
