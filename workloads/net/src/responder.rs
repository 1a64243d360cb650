//! The responder: the end of all connections at the target.
//!
//! Each connection has a thread that blocks in its system calls. A stream so costs a call for each read and no
//! other, and the answer to a request costs two. An event loop would add a call that waits. The datagrams of a run have a
//! socket and a thread of their own.

mod acceptor;
mod conversation;
mod datagrams;
mod runs;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::acceptor::Acceptor;
use self::conversation::Conversation;
use self::runs::Runs;

/// A listening responder. Dropping it ends its listening; connections go on to their ends.
pub(crate) struct Responder {
    service: Arc<Service>,
    _acceptor: Acceptor,
}

/// State shared by all connections.
struct Service {
    address: SocketAddr,
    runs: Runs,
    /// Most connections at once; more are closed.
    most: usize,
    open: AtomicUsize,
}

impl Responder {
    /// Listens at an address and serves at most `most` connections at once.
    ///
    /// # Errors
    /// If the address cannot be bound, or no thread can be started.
    pub(crate) fn start(listen: SocketAddr, most: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let (address, runs, open) = (listener.local_addr()?, Runs::default(), AtomicUsize::new(0));
        let service = Arc::new(Service { address, runs, most, open });
        let of_threads = Arc::clone(&service);
        let serve = move |stream: &TcpStream, buffer: &mut Vec<u8>| of_threads.converse(stream, buffer);
        Ok(Responder { service, _acceptor: Acceptor::start(listener, Box::new(serve))? })
    }

    /// Address with its port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.service.address
    }
}

impl Service {
    fn converse(self: &Arc<Self>, stream: &TcpStream, buffer: &mut Vec<u8>) {
        if self.open.fetch_add(1, Ordering::AcqRel) < self.most {
            Conversation { stream, service: self, buffer }.hold();
        }
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}
