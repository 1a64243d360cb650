//! Address of a target, and the routes of connections to it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use barograph_reactor::Peer;

use crate::setup::SetupError;

/// Source addresses on the loopback network, 127.0.1.1 and on.
const LOOPBACK_SOURCES: u8 = 250;

/// Address of a target, as named by a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A port of a host.
    Host {
        /// A name or an address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Endpoint {
    /// Resolves the network addresses, before any clock starts. May use the network; blocks.
    ///
    /// Connections come from `sources` in turn. Without any the system chooses, except on the IPv4 loopback
    /// network, where 127.0.1.1 to 127.0.1.250 take turns: an address has ports for 28,000 connections only.
    ///
    /// # Errors
    /// If the name has no address, or no source address can reach those found.
    pub fn resolve(&self, sources: &[IpAddr]) -> Result<Routes, SetupError> {
        let peers = match self {
            Endpoint::Unix(path) => vec![Peer::Unix(path.clone())],
            Endpoint::Host { host, port } => look_up(host, *port)?,
        };
        let first = peers[0].clone();
        let routes: Arc<[Route]> = peers.into_iter().filter_map(|peer| Route::new(peer, sources)).collect();
        if routes.is_empty() {
            let v4 = matches!(first, Peer::Tcp(SocketAddr::V4(_)));
            return Err(SetupError::Sources { to: first, wanted: if v4 { "IPv4" } else { "IPv6" } });
        }
        Ok(Routes(routes))
    }
}

/// The addresses of a name, each once, in the order of the system; at least one.
fn look_up(host: &str, port: u16) -> Result<Vec<Peer>, SetupError> {
    let failed = |why| SetupError::Resolve { host: host.to_owned(), why };
    let mut peers: Vec<Peer> = Vec::new();
    for address in (host, port).to_socket_addrs().map_err(failed)? {
        let peer = Peer::Tcp(address);
        if !peers.contains(&peer) {
            peers.push(peer);
        }
    }
    if peers.is_empty() { Err(failed(io::ErrorKind::NotFound.into())) } else { Ok(peers) }
}

/// The network addresses of a target, at least one, each with the source addresses of connections to it. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct Routes(Arc<[Route]>);

/// A network address and the source addresses of connections to it, in turn; if empty, the system chooses.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    peer: Peer,
    sources: Vec<IpAddr>,
}

impl Route {
    /// A route; `None` if sources are given and none is of the peer's kind.
    fn new(peer: Peer, asked: &[IpAddr]) -> Option<Self> {
        let sources: Vec<IpAddr> = match &peer {
            Peer::Unix(_) => Vec::new(),
            Peer::Tcp(to) if asked.is_empty() && to.is_ipv4() && to.ip().is_loopback() => {
                (1..=LOOPBACK_SOURCES).map(|n| Ipv4Addr::new(127, 0, 1, n).into()).collect()
            }
            Peer::Tcp(to) => asked.iter().copied().filter(|s| s.is_ipv4() == to.is_ipv4()).collect(),
        };
        let left_out = matches!(peer, Peer::Tcp(_)) && !asked.is_empty() && sources.is_empty();
        (!left_out).then_some(Route { peer, sources })
    }
}

impl Routes {
    /// The routes to a known address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Routes {
        let route = Route::new(Peer::Tcp(address), &[]).expect("no source is asked for");
        Routes(Arc::new([route]))
    }

    /// The same routes with sources chosen by the system, even on the loopback network: for servers with few
    /// connections and rules for client addresses.
    #[must_use]
    pub fn without_sources(&self) -> Routes {
        Routes(self.0.iter().map(|route| Route { peer: route.peer.clone(), sources: Vec::new() }).collect())
    }

    /// These routes and others, over which connections are spread evenly.
    #[must_use]
    pub fn beside(&self, others: &Routes) -> Routes {
        Routes(self.0.iter().chain(others.0.iter()).cloned().collect())
    }

    /// The network addresses.
    pub fn peers(&self) -> impl ExactSizeIterator<Item = &Peer> {
        self.0.iter().map(|route| &route.peer)
    }

    /// The address to which the connection of this number goes.
    #[must_use]
    pub fn peer(&self, number: u32) -> &Peer {
        &self.route(number).peer
    }

    /// The source address of the connection of this number; `None` if the system chooses.
    #[must_use]
    pub fn source(&self, number: u32) -> Option<SocketAddr> {
        let sources = &self.route(number).sources;
        // Divided first: otherwise, with as many sources as addresses, each address would see one source
        // only.
        let turn = number as usize / self.0.len();
        (!sources.is_empty()).then(|| SocketAddr::new(sources[turn % sources.len()], 0))
    }

    fn route(&self, number: u32) -> &Route {
        &self.0[number as usize % self.0.len()]
    }

    /// The routes whose numbers `keep` accepts; `None` if it accepts none.
    pub(crate) fn filtered(&self, keep: impl Fn(usize) -> bool) -> Option<Routes> {
        let kept = self.0.iter().enumerate().filter(|(number, _)| keep(*number));
        let kept: Arc<[Route]> = kept.map(|(_, route)| route.clone()).collect();
        (!kept.is_empty()).then_some(Routes(kept))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Number of connections by peer and source, of `connections` in all.
    fn dealt(peers: &[&str], sources: &[&str], connections: u32) -> BTreeMap<(String, String), u32> {
        let sources: Vec<IpAddr> = sources.iter().map(|s| s.parse().unwrap()).collect();
        let route = |peer: &&str| Route::new(Peer::Tcp(peer.parse().unwrap()), &sources);
        let routes = Routes(peers.iter().filter_map(route).collect());
        let mut dealt = BTreeMap::new();
        for number in 0..connections {
            let source = routes.source(number).map_or_else(|| "any".to_owned(), |s| s.ip().to_string());
            *dealt.entry((routes.peer(number).to_string(), source)).or_default() += 1;
        }
        dealt
    }

    #[test]
    fn connections_are_dealt_evenly_over_addresses_and_sources() {
        let two = ["192.0.2.1:80", "192.0.2.2:80"];
        let all = dealt(&two, &["192.0.2.8", "192.0.2.9"], 400);
        assert_eq!(all.len(), 4);
        assert!(all.values().all(|n| *n == 100), "{all:?}");
        assert!(dealt(&two, &[], 10).into_iter().all(|((_, source), n)| source == "any" && n == 5));
        // Each peer gets sources of its own kind; a peer without any is left out.
        let mixed = dealt(&["192.0.2.1:80", "[2001:db8::1]:80"], &["192.0.2.8", "2001:db8::8"], 10);
        assert_eq!(
            mixed.keys().filter(|(peer, source)| peer.contains("::") != source.contains("::")).count(),
            0
        );
        assert_eq!(dealt(&["192.0.2.1:80", "[2001:db8::1]:80"], &["2001:db8::8"], 10).len(), 1);
        assert_eq!(dealt(&["127.0.0.1:80"], &[], 1_000).len(), 250);
        assert_eq!(dealt(&["[::1]:80"], &[], 1_000).len(), 1);
        let at = |address: &str| Routes::at(address.parse().unwrap());
        let both = at("192.0.2.1:80").beside(&at("192.0.2.2:81"));
        let peers = [0, 1, 2].map(|number| both.peer(number).to_string());
        assert_eq!(peers, ["192.0.2.1:80", "192.0.2.2:81", "192.0.2.1:80"]);
        assert_eq!(Routes::at("127.0.0.1:80".parse().unwrap()).without_sources().source(0), None);
    }
}
