//! Options of a target: protocol, trust, source addresses, connections.

use std::net::IpAddr;
use std::path::PathBuf;

use barograph_net::{Policy, Tls};

use crate::detour::Detour;
use crate::proxy::Proxy;

/// Default limit of a body, so that a runaway target cannot exhaust the driver's memory.
const BODY_LIMIT: usize = 256 * 1024 * 1024;

/// Concurrent requests on an HTTP/2 connection: the limit of most servers.
const STREAMS: u32 = 100;

/// Connections a browser opens to one host.
const CONNECTIONS: u32 = 6;

/// Options of a target.
#[derive(Clone, Debug)]
pub struct Options {
    /// HTTP version.
    pub protocol: Protocol,
    /// Trust in the peer for addresses that begin with https.
    pub tls: Tls,
    /// Connect to this socket file; the address still names the host.
    pub unix_socket: Option<PathBuf>,
    /// Replacement addresses of hosts; the first match counts.
    pub detours: Vec<Detour>,
    /// Proxy for all requests.
    pub proxy: Option<Proxy>,
    /// Local addresses to connect from, in turn; [`barograph_net::Endpoint::resolve`] describes the default.
    pub sources: Vec<IpAddr>,
    /// Sharing of connections. A new one for each request is announced to the peer.
    pub policy: Policy,
    /// Concurrent requests on an HTTP/2 connection.
    pub streams: u32,
    /// Largest body of an answer and largest message of a stream, in bytes.
    pub body_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            protocol: Protocol::Auto,
            tls: Tls::default(),
            unix_socket: None,
            detours: Vec::new(),
            proxy: None,
            sources: Vec::new(),
            policy: Policy::PerUser(CONNECTIONS),
            streams: STREAMS,
            body_limit: BODY_LIMIT,
        }
    }
}

/// HTTP version of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2: in the clear without asking first, over TLS only if the peer agrees.
    Http2,
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
    Auto,
}
