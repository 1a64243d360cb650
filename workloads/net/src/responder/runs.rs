//! The runs that a responder knows, by token.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

use super::Service;
use super::acceptor::Acceptor;
use super::datagrams::DatagramSocket;
use crate::content::Content;
use crate::datagram::DatagramCounts;
use crate::ledger::Ledger;
use crate::wire::{RunPlace, RunSettings};

/// Most runs that are kept. The oldest one without connections makes room.
const MOST: usize = 256;

/// Connections that may wait to be accepted: as many as the standard library lets wait.
const BACKLOG: i32 = 4_096;

/// A run at the responder.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) settings: RunSettings,
    pub(crate) content: Content,
    pub(crate) ledger: Ledger,
    counts: Mutex<DatagramCounts>,
    own_port: Mutex<OwnPort>,
}

/// A port that only one run has.
#[derive(Debug)]
enum OwnPort {
    /// The run has that of the responder.
    None,
    /// A listener, where receive buffers have a size: that of the listener bounds the first window of a connection,
    /// and with it the largest segment.
    Listener(Acceptor),
    Datagrams(DatagramSocket),
}

impl Run {
    /// A run with what it listens at.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn start(settings: RunSettings, service: &Arc<Service>) -> io::Result<Self> {
        let content = Content::new(settings.largest());
        let own_port = match settings.receive_buffer {
            _ if settings.datagrams => OwnPort::Datagrams(DatagramSocket::open(service.address, &settings)?),
            0 => OwnPort::None,
            bytes => {
                let service_of_threads = Arc::downgrade(service);
                let serve = move |stream: &TcpStream, buffer: &mut Vec<u8>| {
                    if let Some(service) = service_of_threads.upgrade() {
                        service.converse(stream, buffer);
                    }
                };
                OwnPort::Listener(Acceptor::start(listener(service.address, bytes)?, Box::new(serve))?)
            }
        };
        let (ledger, counts, own_port) = (Ledger::default(), Mutex::default(), Mutex::new(own_port));
        Ok(Run { settings, content, ledger, counts, own_port })
    }

    /// Gives its port back; connections go on to their ends.
    pub(super) fn close_port(&self) {
        *self.own_port() = OwnPort::None;
    }

    fn own_port(&self) -> MutexGuard<'_, OwnPort> {
        self.own_port.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts of its datagrams.
    pub(super) fn count<T>(&self, change: impl FnOnce(&mut DatagramCounts) -> T) -> T {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its own port; 0 if it has none.
    fn port(&self) -> u16 {
        match &*self.own_port() {
            OwnPort::None => 0,
            OwnPort::Listener(acceptor) => acceptor.port(),
            OwnPort::Datagrams(socket) => socket.port(),
        }
    }

    /// Whether it has no open connection. The end of a flow of datagrams may be lost, so a flow is none.
    fn is_idle(&self) -> bool {
        self.settings.datagrams || self.ledger.is_idle()
    }
}

/// A listener at another port of an address, with receive buffers of a size.
fn listener(address: SocketAddr, receive_buffer: u32) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket: OwnedFd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_recv_buffer_size(&socket, receive_buffer as usize)?;
    bind(&socket, &SocketAddr::new(address.ip(), 0))?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// The runs, by token.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<KnownRuns>);

#[derive(Debug, Default)]
struct KnownRuns {
    last: u64,
    all: BTreeMap<u64, Arc<Run>>,
}

impl Runs {
    /// Adds a run; returns its token and port, or `None` if too many runs have open connections.
    pub(super) fn add(&self, run: Run) -> Option<RunPlace> {
        let run = Arc::new(run);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.all.len() >= MOST {
            let oldest = known.all.iter().find(|(_, run)| run.is_idle()).map(|(token, _)| *token)?;
            known.all.remove(&oldest);
        }
        known.last += 1;
        let place = RunPlace { token: known.last, port: run.port() };
        if let OwnPort::Datagrams(socket) = &*run.own_port() {
            socket.serve(place.token, Arc::downgrade(&run)).ok()?;
        }
        known.all.insert(place.token, run);
        Some(place)
    }

    /// The run of a token.
    pub(crate) fn find(&self, token: u64) -> Option<Arc<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.get(&token).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Close;
    use crate::pattern::Pattern;

    #[test]
    fn the_oldest_run_without_connections_makes_room() {
        let runs = Runs::default();
        let settings = RunSettings {
            pattern: Pattern::To,
            verifies: false,
            discards: false,
            delays: false,
            datagrams: false,
            message: 1,
            request: 1,
            answer: 1,
            read: 1,
            send_buffer: 0,
            receive_buffer: 0,
        };
        let begin = || {
            let (content, ledger, counts) = (Content::new(1), Ledger::default(), Mutex::default());
            runs.add(Run { settings, content, ledger, counts, own_port: Mutex::new(OwnPort::None) })
        };
        for token in 1..=MOST as u64 {
            assert_eq!(begin(), Some(RunPlace { token, port: 0 }));
            runs.find(token).unwrap().ledger.open();
        }
        assert_eq!(begin(), None, "all have a connection");
        runs.find(2).unwrap().ledger.close(Close::Broken);
        assert_eq!(begin(), Some(RunPlace { token: MOST as u64 + 1, port: 0 }));
        assert!(runs.find(2).is_none() && runs.find(1).is_some());
    }
}
