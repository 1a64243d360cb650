//! A connected, non-blocking socket.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::event_loop::{ReactorState, current};
use crate::source::{Direction, Token};

/// Destination of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address of a network.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Tcp(address) => address.fmt(f),
            Peer::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A connected socket of this thread.
pub struct Socket {
    fd: OwnedFd,
    token: Token,
    home: Rc<ReactorState>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.home.sources.forget(self.token);
    }
}

impl Socket {
    /// Connects, from `source` if given (port 0 takes any).
    ///
    /// # Errors
    /// The error of the system: refused, unreachable, no port or descriptor left.
    pub async fn connect(peer: &Peer, source: Option<SocketAddr>) -> io::Result<Socket> {
        let fd = open(peer)?;
        if let (Peer::Tcp(_), Some(source)) = (peer, source) {
            rustix::net::bind(&fd, &source)?;
        }
        let home = current();
        let token = home.sources.watch(&fd)?;
        let socket = Socket { fd, token, home };
        let begun = match peer {
            Peer::Tcp(to) => rustix::net::connect(&socket.fd, to),
            Peer::Unix(path) => rustix::net::connect(&socket.fd, &SocketAddrUnix::new(path)?),
        };
        match begun {
            Ok(()) => return Ok(socket),
            Err(Errno::INPROGRESS) => {}
            Err(why) => return Err(why.into()),
        }
        // Events of the unconnected socket do not count.
        socket.home.sources.exhausted(socket.token, Direction::Out);
        socket.writable().await;
        sockopt::socket_error(&socket.fd)??;
        Ok(socket)
    }

    /// Reads available bytes into the spare capacity of `buffer`; 0 when the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` if there are none; otherwise the reason why the connection broke.
    pub fn try_read(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        if !self.home.sources.is_ready(self.token, Direction::In) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let room = buffer.capacity() - buffer.len();
        let read =
            rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, rustix::buffer::spare_capacity(buffer)));
        self.after_read(read, room)
    }

    /// Reads available bytes into `room`; 0 when the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` if there are none; otherwise the reason why the connection broke.
    pub fn try_read_slice(&self, room: &mut [u8]) -> io::Result<usize> {
        if !self.home.sources.is_ready(self.token, Direction::In) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut *room));
        self.after_read(read, room.len())
    }

    /// Records the end of a read. Fewer bytes than the room: the socket is empty, and the kernel will
    /// announce more. An end that came with them is recorded separately.
    fn after_read(&self, read: rustix::io::Result<usize>, room: usize) -> io::Result<usize> {
        match read {
            Ok(n) => {
                if n < room && n > 0 {
                    self.home.sources.exhausted(self.token, Direction::In);
                }
                Ok(n)
            }
            Err(Errno::AGAIN) => {
                self.home.sources.exhausted(self.token, Direction::In);
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Writes as many bytes as fit.
    ///
    /// # Errors
    /// `WouldBlock` if none fit; otherwise the reason why the connection broke.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::retry_on_intr(|| rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL)) {
            Ok(n) => {
                if n < bytes.len() {
                    self.home.sources.exhausted(self.token, Direction::Out);
                }
                Ok(n)
            }
            Err(Errno::AGAIN) => {
                self.home.sources.exhausted(self.token, Direction::Out);
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Waits until a read may find something.
    pub async fn readable(&self) {
        poll_fn(|cx| self.poll_readable(cx)).await;
    }

    /// Waits until a write may find room.
    pub async fn writable(&self) {
        poll_fn(|cx| self.poll_writable(cx)).await;
    }

    /// Ready when a read may find something; otherwise wakes the task then.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        self.home.sources.poll_ready(self.token, Direction::In, cx)
    }

    /// Ready when a write may find room; otherwise wakes the task then.
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        self.home.sources.poll_ready(self.token, Direction::Out, cx)
    }

    /// Whether nothing waits to be read, not even the end, according to the kernel's events so far. Costs no
    /// system call, unless the last read filled its room and may have left something.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let sources = &self.home.sources;
        if !sources.is_ready(self.token, Direction::In) {
            return true;
        }
        if sources.has_ended(self.token) {
            return false;
        }
        let mut one = [0_u8; 1];
        let look = || rustix::net::recv(&self.fd, &mut one, RecvFlags::PEEK).map(|_| ());
        let quiet = rustix::io::retry_on_intr(look) == Err(Errno::AGAIN);
        if quiet {
            sources.exhausted(self.token, Direction::In);
        }
        quiet
    }

    /// Whether the peer has closed, or the connection broken, according to the kernel's events so far. Costs
    /// no system call.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.home.sources.has_ended(self.token)
    }

    /// The local address; `None` for a socket in the file system.
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        rustix::net::getsockname(&self.fd).ok().and_then(|address| SocketAddr::try_from(address).ok())
    }

    pub(crate) fn shut_down_writing(&self) -> io::Result<()> {
        match rustix::net::shutdown(self.fd.as_fd(), rustix::net::Shutdown::Write) {
            Ok(()) | Err(Errno::NOTCONN) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

fn open(peer: &Peer) -> io::Result<OwnedFd> {
    let family = match peer {
        Peer::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Peer::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Peer::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if matches!(peer, Peer::Tcp(_)) {
        sockopt::set_tcp_nodelay(&fd, true)?;
    }
    Ok(fd)
}
