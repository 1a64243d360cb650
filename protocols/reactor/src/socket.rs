//! A connected, non-blocking socket.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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

/// Options of a connection, set before it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes of the send buffer; `None` leaves them to the system.
    pub send_buffer: Option<u32>,
    /// Bytes of the receive buffer; `None` leaves them to the system.
    pub receive_buffer: Option<u32>,
    /// Whether a small write waits for the acknowledgement of an earlier one (Nagle's algorithm).
    pub delays: bool,
    /// Whether it carries datagrams (UDP) and no stream.
    pub datagrams: bool,
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
        Self::connect_with(peer, source, SocketOptions::default()).await
    }

    /// Connects as [`Socket::connect`], with options.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn connect_with(
        peer: &Peer,
        source: Option<SocketAddr>,
        options: SocketOptions,
    ) -> io::Result<Socket> {
        let fd = open(peer, options)?;
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
        // A receive skips the layer of files, through which a read goes.
        let mut receive = || {
            let spare = rustix::buffer::spare_capacity(buffer);
            rustix::net::recv(&self.fd, spare, RecvFlags::empty()).map(|(read, _)| read)
        };
        let read = rustix::io::retry_on_intr(&mut receive);
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

    /// Receives the next datagram into `room`, cut off at its end.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; otherwise the error of the system.
    pub fn try_receive(&self, room: &mut [u8]) -> io::Result<usize> {
        if !self.home.sources.is_ready(self.token, Direction::In) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let received = rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut *room));
        // Behind a datagram that leaves room may be another one.
        self.after_read(received, 0)
    }

    /// Discards available bytes, as many as fit into `room`, without copying them; 0 when the peer has closed.
    /// Only for TCP.
    ///
    /// # Errors
    /// `WouldBlock` if there are none; otherwise the reason why the connection broke.
    pub fn try_discard(&self, room: &mut [u8]) -> io::Result<usize> {
        if !self.home.sources.is_ready(self.token, Direction::In) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let discard = || rustix::net::recv(&self.fd, &mut *room, RecvFlags::TRUNC).map(|(_, bytes)| bytes);
        let read = rustix::io::retry_on_intr(discard);
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

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open(peer: &Peer, options: SocketOptions) -> io::Result<OwnedFd> {
    let family = match peer {
        Peer::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Peer::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Peer::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let kind = if options.datagrams { SocketType::DGRAM } else { SocketType::STREAM };
    let fd = rustix::net::socket_with(family, kind, flags, None)?;
    if matches!(peer, Peer::Tcp(_)) && !options.datagrams {
        sockopt::set_tcp_nodelay(&fd, !options.delays)?;
    }
    // The window that a connection offers at most is agreed while it is made.
    if let Some(bytes) = options.receive_buffer {
        sockopt::set_socket_recv_buffer_size(&fd, bytes as usize)?;
    }
    if let Some(bytes) = options.send_buffer {
        sockopt::set_socket_send_buffer_size(&fd, bytes as usize)?;
    }
    Ok(fd)
}
