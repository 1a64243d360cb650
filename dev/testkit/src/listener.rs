//! Listening addresses of targets: IPv4, IPv6 or a Unix socket, in the clear or behind TLS.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio_rustls::TlsAcceptor;

use crate::authority::Identity;

/// Listening address and protocol of a target.
#[derive(Clone)]
pub struct ListenOptions {
    place: AddressKind,
    tls: Option<Identity>,
    alpn: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum AddressKind {
    Ip(IpAddr),
    Unix,
}

impl ListenOptions {
    /// A free port of 127.0.0.1.
    #[must_use]
    pub fn v4() -> Self {
        ListenOptions::on(Ipv4Addr::LOCALHOST)
    }

    /// A free port of an address of this machine.
    #[must_use]
    pub fn on(address: impl Into<IpAddr>) -> Self {
        ListenOptions { place: AddressKind::Ip(address.into()), tls: None, alpn: Vec::new() }
    }

    /// A free port of `::1`. A target does not start on a machine without IPv6; check [`has_ipv6`] before.
    #[must_use]
    pub fn v6() -> Self {
        ListenOptions::on(Ipv6Addr::LOCALHOST)
    }

    /// A socket file in a folder of its own, removed with the target.
    #[must_use]
    pub fn unix() -> Self {
        ListenOptions { place: AddressKind::Unix, ..ListenOptions::v4() }
    }

    /// Adds TLS, with this certificate.
    #[must_use]
    pub fn tls(self, identity: Identity) -> Self {
        ListenOptions { tls: Some(identity), ..self }
    }

    /// Sets the protocols offered by ALPN, best first; none by default.
    #[must_use]
    pub fn offering(self, alpn: &[&'static str]) -> Self {
        ListenOptions { alpn: alpn.to_vec(), ..self }
    }

    /// Opens it. Must run inside a runtime.
    pub(crate) async fn open(self) -> io::Result<TargetListener> {
        let acceptor = match &self.tls {
            Some(identity) => Some(TlsAcceptor::from(Arc::new(identity.config(&self.alpn)?))),
            None => None,
        };
        let (socket, address, folder) = match self.place {
            AddressKind::Ip(address) => tcp((address, 0).into()).await?,
            AddressKind::Unix => {
                let folder = tempfile::Builder::new().prefix("testkit").tempdir()?;
                let path = folder.path().join("socket");
                (ListenSocket::Unix(UnixListener::bind(&path)?), Address::Unix(path), Some(folder))
            }
        };
        Ok(TargetListener { socket, acceptor, address, _folder: folder })
    }
}

async fn tcp(addr: SocketAddr) -> io::Result<(ListenSocket, Address, Option<TempDir>)> {
    let listener = TcpListener::bind(addr).await?;
    let address = Address::Tcp(listener.local_addr()?);
    Ok((ListenSocket::Tcp(listener), address, None))
}

/// Whether this machine can listen on `::1`.
#[must_use]
pub fn has_ipv6() -> bool {
    std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// A port of 127.0.0.1 without a listener, held as long as this lives, so that no other target gets it.
pub struct ClosedPort {
    addr: SocketAddr,
    _held: TcpSocket,
}

impl ClosedPort {
    /// Binds a free port without listening.
    pub fn new() -> io::Result<Self> {
        let held = TcpSocket::new_v4()?;
        held.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(ClosedPort { addr: held.local_addr()?, _held: held })
    }

    /// The address of the port.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// The address of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Address and port.
    Tcp(SocketAddr),
    /// A socket file.
    Unix(PathBuf),
}

impl Address {
    /// Address and port. Panics for a Unix socket: the test used the wrong target.
    #[must_use]
    #[track_caller]
    pub fn tcp(&self) -> SocketAddr {
        match self {
            Address::Tcp(addr) => *addr,
            Address::Unix(path) => panic!("{} is no TCP address", path.display()),
        }
    }

    /// The socket file. Panics for a TCP address: the test used the wrong target.
    #[must_use]
    #[track_caller]
    pub fn path(&self) -> &Path {
        match self {
            Address::Unix(path) => path,
            Address::Tcp(addr) => panic!("{addr} is no socket file"),
        }
    }

    /// Host and port of a URL; `localhost` for a Unix socket.
    pub(crate) fn host(&self) -> String {
        match self {
            Address::Tcp(addr) => addr.to_string(),
            Address::Unix(_) => "localhost".to_owned(),
        }
    }
}

/// An open door.
pub(crate) struct TargetListener {
    socket: ListenSocket,
    acceptor: Option<TlsAcceptor>,
    address: Address,
    /// Removes the socket file when dropped.
    _folder: Option<TempDir>,
}

enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl TargetListener {
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Its origin for clients.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.acceptor.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address.host())
    }

    /// Accepts a connection. TLS follows in [`AcceptedConnection::welcome`], so that one client cannot hold others.
    pub(crate) async fn accept(&self) -> io::Result<AcceptedConnection> {
        let (raw, peer) = match &self.socket {
            ListenSocket::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Delays of small packets by the target would be measured.
                stream.set_nodelay(true)?;
                (RawSocket::Tcp(stream), Some(peer.ip()))
            }
            ListenSocket::Unix(listener) => (RawSocket::Unix(listener.accept().await?.0), None),
        };
        Ok(AcceptedConnection { raw, acceptor: self.acceptor.clone(), peer })
    }
}

/// An accepted connection.
pub(crate) struct AcceptedConnection {
    raw: RawSocket,
    acceptor: Option<TlsAcceptor>,
    /// Address of the client; `None` at a Unix socket.
    pub(crate) peer: Option<IpAddr>,
}

enum RawSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A bidirectional byte stream.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection of any kind.
pub(crate) type Stream = Box<dyn Io>;

impl AcceptedConnection {
    /// Makes the connection reset when it is dropped. A Unix socket has no reset and just ends.
    pub(crate) fn reset_when_dropped(&self) -> io::Result<()> {
        match &self.raw {
            RawSocket::Tcp(stream) => stream.set_zero_linger(),
            RawSocket::Unix(_) => Ok(()),
        }
    }

    /// The connection after its TLS handshake, if there is one.
    pub(crate) async fn welcome(self) -> io::Result<Stream> {
        match (self.raw, self.acceptor) {
            (RawSocket::Tcp(stream), None) => Ok(Box::new(stream)),
            (RawSocket::Unix(stream), None) => Ok(Box::new(stream)),
            (RawSocket::Tcp(stream), Some(tls)) => Ok(Box::new(tls.accept(stream).await?)),
            (RawSocket::Unix(stream), Some(tls)) => Ok(Box::new(tls.accept(stream).await?)),
        }
    }
}
