//! The scripted server: a thread with a runtime of its own, a listener, and an end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::act::Script;
use crate::listener::{Address, ListenOptions, TargetListener};
use crate::serve::{ServerState, serve};
use crate::thread::{self, TargetThread};

/// A running server; dropping it stops it and resets its connections.
pub struct Server {
    address: Address,
    origin: String,
    shared: Arc<ServerState>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1 and follows `script` for every request.
    pub fn start(script: Script) -> io::Result<Self> {
        Server::start_at(ListenOptions::v4(), script)
    }

    /// Listens at this door and follows `script` for every request.
    pub fn start_at(door: ListenOptions, script: Script) -> io::Result<Self> {
        let shared = Arc::new(ServerState {
            script,
            requests: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            die: Notify::new(),
        });
        let used = shared.clone();
        let TargetThread { address, origin, thread } =
            thread::start("testkit-server", door, async move |listening| listen(listening, used).await)?;
        Ok(Server { address, origin, shared, thread: Some(thread) })
    }

    /// Address and port. Panics when it listens on a Unix socket.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.address.tcp()
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URL of this path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Requests read so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Kills it from outside: on return it no longer listens and its connections are reset.
    pub fn die(&mut self) {
        self.shared.die.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread has reported a panic of the script already.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.die();
    }
}

/// Accepts connections until the server is to die; then listener and connections are dropped.
async fn listen(listening: TargetListener, shared: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shared.die.notified() => return,
            taken = listening.accept() => match taken {
                Ok(stream) => {
                    connections.spawn(serve(stream, shared.clone()));
                }
                // A client that disconnected before it was accepted; others may come.
                Err(_) => tokio::task::yield_now().await,
            },
            // Ended connections are removed, so that a long test does not collect them.
            Some(_) = connections.join_next() => {}
        }
    }
}
