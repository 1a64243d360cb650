//! One connection of a site, in its protocol.

use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::sync::Notify;

use super::routes::{self, Call};
use super::{SiteProtocols, State};
use crate::listener::AcceptedConnection;

/// Serves one connection to its end.
pub(super) async fn serve(arrived: AcceptedConnection, speaks: SiteProtocols, state: Arc<State>) {
    // A client that rejects the certificate sees that on its own side.
    let Ok(stream) = arrived.welcome().await else { return };
    let io = TokioIo::new(stream);
    let goodbye = Arc::new(Notify::new());
    let service = service_fn(|request| {
        routes::answer(Call { request, state: state.clone(), goodbye: goodbye.clone() })
    });
    // The builder for both protocols ignores a restriction to one where upgrades are served, so each has its
    // own.
    match speaks {
        SiteProtocols::Http1 => {
            let connection = http1::Builder::new().serve_connection(io, service).with_upgrades();
            drive(connection, &goodbye, http1::UpgradeableConnection::graceful_shutdown).await;
        }
        SiteProtocols::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service);
            drive(connection, &goodbye, http2::Connection::graceful_shutdown).await;
        }
        SiteProtocols::Either => {
            let builder = auto::Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection_with_upgrades(io, service);
            drive(connection, &goodbye, auto::UpgradeableConnection::graceful_shutdown).await;
        }
    }
}

/// Runs a connection until it ends, and ends it in order on request. The client sees the reason for its end.
async fn drive<C: Future>(connection: C, goodbye: &Notify, shut_down: fn(Pin<&mut C>)) {
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = goodbye.notified() => shut_down(connection.as_mut()),
    }
    connection.await;
}
