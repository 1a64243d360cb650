//! A listener whose connections have a thread each. Threads are kept for the next connection.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::event::{Timespec, poll};

/// Threads that are kept without a connection.
const KEPT: usize = 32;

/// Bytes of the stack of a thread: buffers are not on it.
pub(super) const STACK: usize = 256 * 1024;

/// Wait after a failed accept, which mostly lacks an open file: others may be closed soon.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Serves a connection to its end, with a buffer of the thread.
pub(super) type Serve = Box<dyn Fn(&TcpStream, &mut Vec<u8>) + Send + Sync>;

/// A listener with its threads. Dropping it ends its listening; connections go on to their ends.
pub(super) struct Acceptor(Arc<Shared>);

struct Shared {
    listener: TcpListener,
    serve: Serve,
    /// Threads that wait for a connection.
    idle: AtomicUsize,
    is_closed: AtomicBool,
}

impl Acceptor {
    /// Accepts and serves connections from here on.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(listener: TcpListener, serve: Serve) -> io::Result<Self> {
        let (idle, is_closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { listener, serve, idle, is_closed });
        shared.add_thread()?;
        Ok(Acceptor(shared))
    }

    /// Its port; 0 if the system does not tell.
    pub(super) fn port(&self) -> u16 {
        self.0.listener.local_addr().map_or(0, |address| address.port())
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Acceptor({})", self.port())
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::Release);
        // It wakes the threads that wait for a connection.
        let _ = rustix::net::shutdown(&self.0.listener, rustix::net::Shutdown::Both);
    }
}

impl Shared {
    /// Starts a thread that waits for a connection.
    fn add_thread(self: &Arc<Self>) -> io::Result<()> {
        self.idle.fetch_add(1, Ordering::AcqRel);
        let shared = Arc::clone(self);
        let builder = thread::Builder::new().name("responder".to_owned()).stack_size(STACK);
        let started = builder.spawn(move || shared.accept());
        if started.is_err() {
            self.idle.fetch_sub(1, Ordering::AcqRel);
        }
        started.map(|_| ())
    }

    /// Serves one connection after the other.
    fn accept(self: Arc<Self>) {
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
            (self.serve)(&stream, &mut buffer);
            drop(stream);
            if self.idle.fetch_add(1, Ordering::AcqRel) >= KEPT {
                break;
            }
        }
        self.idle.fetch_sub(1, Ordering::AcqRel);
    }
}
