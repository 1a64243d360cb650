//! Threads that serve the connections of a node whose stores are files: each has a runtime, a listener and a
//! table of open files of its own.
//!
//! The system's limit of open files holds for each table, so n threads hold n times the connections. A table
//! is a copy, made when all shared files are open: the descriptors that wake the threads' runtimes, and the
//! files of the stores. Those have one number in every table. Files that a thread opens later, connections
//! and pictures, belong to it and to the threads that it starts for blocking work. Alternatives:
//! docs/decisions/0009.
//!
//! Not for nodes with other servers: connections to those are opened at any time and used by every thread.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Barrier};

use axum::Router;
use rustix::net::sockopt;
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::connection::{ConnectionAcceptor, DRAIN_LIMIT, Phase};
use super::traffic::Traffic;
use super::{BACKLOG, ServeError, system};
use crate::settings::{MOST_THREADS, ServeConfig};

/// Files in a table beside connections and the files of threads: those of the stores, and pictures being
/// read.
const OTHER_FILES: u64 = 120;

/// Files of a thread, in every table: four of its runtime, a listener, and four of the stores' readers.
const FILES_OF_A_THREAD: u64 = 10;

/// State shared by the threads.
pub(super) struct ThreadContext {
    pub(super) router: Router,
    pub(super) traffic: Arc<Traffic>,
    pub(super) phase: watch::Receiver<Phase>,
    /// Dropped by each thread at its end.
    pub(super) open: mpsc::Sender<Infallible>,
    /// Limit of connections of the whole server.
    pub(super) max_connections: usize,
}

impl ThreadContext {
    /// The gate of a listener.
    pub(super) fn gate(&self, listener: TcpListener) -> ConnectionAcceptor {
        let (router, traffic) = (self.router.clone(), Arc::clone(&self.traffic));
        ConnectionAcceptor { listener, router, traffic, phase: self.phase.clone() }
    }
}

/// Connections that fit into one table of open files, given the number of threads.
pub(super) fn room_of_table(threads: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let others = OTHER_FILES + FILES_OF_A_THREAD * threads as u64;
    usize::try_from(files.saturating_sub(others)).unwrap_or(usize::MAX).max(1)
}

/// The number of threads: the configured number, or more where their open files would hold fewer connections
/// than configured. At most one thread per connection.
pub(super) fn count(config: &ServeConfig) -> usize {
    let asked = config.threads.max(1);
    let most = asked.max(MOST_THREADS);
    let holds = |threads: &usize| room_of_table(*threads).saturating_mul(*threads) >= config.room_for;
    (asked..=most).find(holds).unwrap_or(most).min(config.max_connections.max(1))
}

/// A runtime for each thread. Must be called before the stores are opened, as described at the top.
pub(super) fn runtimes(threads: usize) -> Result<Vec<Runtime>, ServeError> {
    // A program without shared libraries reads random numbers from a file that all threads use: it opens here.
    let _first: Uuid = Uuid::new_v4();
    let one = |_| Builder::new_current_thread().enable_all().build();
    (0..threads).map(one).collect::<io::Result<_>>().map_err(system("start a thread's runtime"))
}

/// Starts a thread for each runtime at the address of a listener, and waits until each has its table of open
/// files.
pub(super) fn start(
    runtimes: Vec<Runtime>,
    listener: std::net::TcpListener,
    front: &ThreadContext,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(system("read the listener's address"))?;
    let (count, mut first) = (runtimes.len(), Some(listener));
    let begun = Arc::new(Barrier::new(count + 1));
    let mut gates = Vec::with_capacity(count);
    for runtime in runtimes {
        let within = runtime.enter();
        let listening = first.take().map_or_else(|| beside(address), TcpListener::from_std);
        let gate = front.gate(listening.map_err(system("listen with every thread"))?);
        drop(within);
        gates.push((runtime, gate));
    }
    for (number, (runtime, gate)) in gates.into_iter().enumerate() {
        let share = front.max_connections / count + usize::from(number < front.max_connections % count);
        let (begun, open) = (Arc::clone(&begun), front.open.clone());
        let serve = move || {
            let room = room_of_thread(number, count);
            begun.wait();
            runtime.block_on(gate.serve(room.min(share)));
            // Unfinished work ends here, in the thread that has its files.
            runtime.shutdown_timeout(DRAIN_LIMIT);
            drop(open);
        };
        let thread = std::thread::Builder::new().name(format!("serve-{number}"));
        thread.spawn(serve).map_err(system("start a thread"))?;
    }
    begun.wait();
    Ok(())
}

/// Another listener at an address. The first one is bound before sockets may share it, so a port of another
/// program is refused.
fn beside(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Lets further listeners share the address of this one. The system deals connections out evenly.
pub(super) fn share_address(listener: &std::net::TcpListener) -> Result<(), ServeError> {
    sockopt::set_socket_reuseport(listener, true).map_err(system("share the listener's address"))
}

/// Gives the calling thread a table of open files of its own; returns its limit of connections. If the system
/// refuses the table, the threads share one.
fn room_of_thread(number: usize, threads: usize) -> usize {
    let room = room_of_table(threads);
    match barograph_reactor::copy_open_files() {
        Ok(()) => room,
        Err(why) => {
            if number == 0 {
                tracing::warn!(%why, room, "threads get no open files of their own: all connections share one limit");
            }
            (room / threads).max(1)
        }
    }
}
