//! The responder: the end of all connections at the target.
//!
//! Each connection has a thread that blocks in its system calls. A stream so costs a call for each read and no
//! other, and the answer to a request costs two. An event loop would add a call that waits. Threads are kept
//! for the next connection.

mod conversation;
mod runs;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::event::{Timespec, poll};

use self::conversation::Conversation;
use self::runs::Runs;

/// Threads that are kept without a connection.
const KEPT: usize = 32;

/// Bytes of the stack of a thread: buffers are not on it.
const STACK: usize = 256 * 1024;

/// Wait after a failed accept, which mostly lacks an open file: others may be closed soon.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// A listening responder. Dropping it ends its listening; connections go on to their ends.
pub(crate) struct Responder {
    shared: Arc<Shared>,
}

struct Shared {
    listener: TcpListener,
    address: SocketAddr,
    runs: Runs,
    /// Most connections at once; more are closed.
    most: usize,
    open: AtomicUsize,
    /// Threads that wait for a connection.
    idle: AtomicUsize,
    is_closed: AtomicBool,
}

impl Responder {
    /// Listens at an address and serves at most `most` connections at once.
    ///
    /// # Errors
    /// If the address cannot be bound, or no thread can be started.
    pub(crate) fn start(listen: SocketAddr, most: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let shared = Arc::new(Shared {
            address: listener.local_addr()?,
            listener,
            runs: Runs::default(),
            most,
            open: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        });
        shared.add_thread()?;
        Ok(Responder { shared })
    }

    /// Address with its port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.shared.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        // It wakes the threads that wait for a connection.
        let _ = rustix::net::shutdown(&self.shared.listener, rustix::net::Shutdown::Both);
    }
}

impl Shared {
    /// Starts a thread that waits for a connection.
    fn add_thread(self: &Arc<Self>) -> io::Result<()> {
        self.idle.fetch_add(1, Ordering::AcqRel);
        let shared = Arc::clone(self);
        let builder = thread::Builder::new().name("responder".to_owned()).stack_size(STACK);
        let started = builder.spawn(move || shared.serve());
        if started.is_err() {
            self.idle.fetch_sub(1, Ordering::AcqRel);
        }
        started.map(|_| ())
    }

    /// Serves one connection after the other.
    fn serve(self: Arc<Self>) {
        let mut buffer = Vec::new();
        while !self.is_closed.load(Ordering::Acquire) {
            let Ok((stream, _)) = self.listener.accept() else {
                let _ = poll(&mut [], Some(&PAUSE));
                continue;
            };
            if self.idle.fetch_sub(1, Ordering::AcqRel) == 1 {
                // Without a thread the next connection waits for the end of this one.
                let _ = self.add_thread();
            }
            self.converse(stream, &mut buffer);
            if self.idle.fetch_add(1, Ordering::AcqRel) >= KEPT {
                break;
            }
        }
        self.idle.fetch_sub(1, Ordering::AcqRel);
    }

    fn converse(&self, stream: TcpStream, buffer: &mut Vec<u8>) {
        if self.open.fetch_add(1, Ordering::AcqRel) < self.most {
            Conversation { stream: &stream, runs: &self.runs, port: self.address.port(), buffer }.hold();
        }
        drop(stream);
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}
