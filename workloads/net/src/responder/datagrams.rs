//! The datagrams of one run: a socket with a thread that counts and answers them.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;

use rustix::event::{Timespec, poll};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, bind, shutdown, socket_with, sockopt};
use rustix::time::{ClockId, clock_gettime};

use super::acceptor::STACK;
use super::runs::Run;
use crate::datagram::{Flow, HEAD, Head, LARGEST, LAST};
use crate::ledger::Close;
use crate::wire::RunSettings;

/// Most flows of a run; datagrams of further ones are not taken.
const MOST_FLOWS: usize = 10_000;

/// Wait after an error of the socket.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// A socket that takes datagrams. Dropping it ends its thread.
#[derive(Debug)]
pub(super) struct DatagramSocket(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    socket: UdpSocket,
    is_closed: AtomicBool,
}

impl DatagramSocket {
    /// Opens a socket at a free port of an address, with the buffers of a run.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn open(address: SocketAddr, settings: &RunSettings) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket: OwnedFd = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        if settings.receive_buffer > 0 {
            sockopt::set_socket_recv_buffer_size(&socket, settings.receive_buffer as usize)?;
        }
        if settings.send_buffer > 0 {
            sockopt::set_socket_send_buffer_size(&socket, settings.send_buffer as usize)?;
        }
        bind(&socket, &SocketAddr::new(address.ip(), 0))?;
        Ok(DatagramSocket(Arc::new(Shared { socket: socket.into(), is_closed: AtomicBool::new(false) })))
    }

    /// Its port; 0 if the system does not tell.
    pub(super) fn port(&self) -> u16 {
        self.0.socket.local_addr().map_or(0, |address| address.port())
    }

    /// Takes the datagrams of a run with this token from here on.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn serve(&self, token: u64, run: Weak<Run>) -> io::Result<()> {
        let shared = Arc::clone(&self.0);
        let builder = thread::Builder::new().name("datagrams".to_owned()).stack_size(STACK);
        builder.spawn(move || shared.take_all(token, &run)).map(|_| ())
    }
}

impl Drop for DatagramSocket {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::Release);
        // It wakes the thread, though the system says that there is no connection.
        let _ = shutdown(&self.0.socket, Shutdown::Both);
    }
}

impl Shared {
    fn take_all(&self, token: u64, run: &Weak<Run>) {
        let mut flows = HashMap::new();
        let mut buffer = vec![0; LARGEST as usize];
        loop {
            let received = self.socket.recv_from(&mut buffer);
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            let Some(run) = run.upgrade() else { return };
            let Ok((bytes, peer)) = received else {
                let _ = poll(&mut [], Some(&PAUSE));
                continue;
            };
            let head = Head::read(&buffer[..bytes]).filter(|head| head.token == token);
            if head.is_some_and(|head| take((head, bytes), peer, (&run, &mut flows))) {
                self.answer(peer, (&run, &mut buffer));
            }
        }
    }

    /// Answers with the head of the request.
    fn answer(&self, peer: SocketAddr, (run, buffer): (&Run, &mut [u8])) {
        let answer = &buffer[..(run.settings.answer as usize).clamp(HEAD, LARGEST as usize)];
        if self.socket.send_to(answer, peer).is_ok() {
            run.count(|counts| counts.answered += answer.len() as u64);
        }
    }
}

/// Counts a datagram of this many bytes. Whether it is a request for an answer.
fn take(
    (head, bytes): (Head, usize),
    peer: SocketAddr,
    (run, flows): (&Run, &mut HashMap<SocketAddr, Flow>),
) -> bool {
    let is_known = flows.contains_key(&peer);
    if !is_known && flows.len() >= MOST_FLOWS {
        return false;
    }
    let flow = flows.entry(peer).or_default();
    if !is_known {
        run.ledger.open();
    }
    if head.number & LAST != 0 {
        if run.count(|counts| flow.end(head.number & !LAST, counts)) {
            run.ledger.close(Close::InOrder { sent: 0, received: 0 });
        }
        return false;
    }
    let now = clock_gettime(ClockId::Monotonic);
    let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    run.count(|counts| flow.arrive(head, (bytes, now_ns), counts)) && !run.settings.pattern.is_stream()
}
