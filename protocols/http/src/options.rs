//! How a target is spoken to: protocol, trust, source addresses, connections.

use std::net::IpAddr;
use std::path::PathBuf;

use barograph_net::{Policy, Tls};

use crate::detour::Detour;
use crate::proxy::Proxy;

/// Largest body taken unless said otherwise, so that a runaway target cannot eat the driver's memory.
const BODY_LIMIT: usize = 256 * 1024 * 1024;

/// Requests at once on an HTTP/2 connection: what most servers allow.
const STREAMS: u32 = 100;

/// Connections a browser opens to one host.
const CONNECTIONS: u32 = 6;

/// How a target is spoken to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which HTTP.
    pub protocol: Protocol,
    /// What is believed about the peer when the address begins with https.
    pub tls: Tls,
    /// Connect to this socket file; the address still names the host.
    pub unix_socket: Option<PathBuf>,
    /// Addresses at which hosts are reached instead of their own; the first that fits counts.
    pub detours: Vec<Detour>,
    /// Send all requests through this proxy.
    pub proxy: Option<Proxy>,
    /// Local addresses to connect from, in turn; see [`barograph_net::Endpoint::resolve`] where there are none.
    pub sources: Vec<IpAddr>,
    /// How connections are shared. A new one for each request tells the peer so.
    pub policy: Policy,
    /// Requests at once on an HTTP/2 connection.
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

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2: in the clear without asking first, over TLS only if the peer agrees.
    Http2,
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
    Auto,
}
