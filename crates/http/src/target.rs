//! The target: an address and how it is spoken to, and the network addresses its name leads to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use barograph_reactor::Peer;

use crate::fault::TargetError;
use crate::options::{Options, Policy, Protocol};
use crate::tls::Secured;
use crate::url::Url;

/// Source addresses on the loopback network, 127.0.1.1 and on.
const LOOPBACK_SOURCES: u8 = 250;

/// An address and how it is spoken to. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Target(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    url: Url,
    authority: String,
    options: Options,
    secured: Option<Secured>,
}

impl Target {
    /// Reads an address. For https the authorities to trust are read too.
    ///
    /// # Errors
    /// When the address cannot be read, or the trust has a flaw.
    pub fn parse(url: &str, options: &Options) -> Result<Target, TargetError> {
        let failed = |why| TargetError::Url { url: url.to_owned(), why };
        let url = Url::parse(url).map_err(failed)?;
        let secured = match url.tls {
            true => Some(Secured::new(&url.host, &options.tls, options.protocol)?),
            false => None,
        };
        Ok(Target(Arc::new(Inner { authority: url.authority(), url, options: options.clone(), secured })))
    }

    /// Path and query of the address.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.url.path
    }

    /// Host and port as the `host` header has them.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.0.authority
    }

    /// Does the address begin with https?
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.url.tls
    }

    /// How it is spoken to.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) fn secured(&self) -> Option<&Secured> {
        self.0.secured.as_ref()
    }

    /// Finds the addresses of the host, before any clock starts. May ask the network; blocks.
    ///
    /// # Errors
    /// When the name leads nowhere, or no source address can reach where it leads.
    pub fn resolve(&self) -> Result<Resolved, TargetError> {
        let peers = match &self.0.options.unix_socket {
            Some(path) => vec![Peer::Unix(path.clone())],
            None => self.look_up()?,
        };
        let first = peers[0].clone();
        let sources = &self.0.options.sources;
        let routes: Vec<Route> = peers.into_iter().filter_map(|peer| Route::new(peer, sources)).collect();
        if routes.is_empty() {
            let v4 = matches!(first, Peer::Tcp(SocketAddr::V4(_)));
            return Err(TargetError::Sources { to: first, wanted: if v4 { "IPv4" } else { "IPv6" } });
        }
        Ok(Resolved { target: self.clone(), routes: routes.into() })
    }

    /// The addresses a name has, each once, in the order the system gives them; at least one.
    fn look_up(&self) -> Result<Vec<Peer>, TargetError> {
        let host = &self.0.url.host;
        let failed = |why| TargetError::Resolve { host: host.clone(), why };
        let mut peers: Vec<Peer> = Vec::new();
        for address in (host.as_str(), self.0.url.port).to_socket_addrs().map_err(failed)? {
            let peer = Peer::Tcp(address);
            if !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        if peers.is_empty() { Err(failed(io::ErrorKind::NotFound.into())) } else { Ok(peers) }
    }
}

/// A target and the network addresses it is reached at. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Resolved {
    target: Target,
    pub(crate) routes: Arc<[Route]>,
}

/// A network address and where connections to it come from, in turn; from anywhere if nothing is said.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) peer: Peer,
    pub(crate) sources: Vec<IpAddr>,
}

impl Route {
    /// `None` when sources are asked for and none is of the peer's kind.
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

impl Resolved {
    /// A target that speaks HTTP/1.1 in the clear at a known address.
    #[must_use]
    pub fn at(address: SocketAddr, policy: Policy) -> Resolved {
        let url =
            Url { tls: false, host: address.ip().to_string(), port: address.port(), path: "/".to_owned() };
        let options = Options { protocol: Protocol::Http1, policy, ..Options::default() };
        let inner = Inner { authority: address.to_string(), url, options, secured: None };
        let route = Route::new(Peer::Tcp(address), &[]).expect("no source is asked for");
        Resolved { target: Target(Arc::new(inner)), routes: Arc::new([route]) }
    }

    /// The target as it was given.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The addresses it is reached at.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.routes.iter().map(|route| &route.peer)
    }

    /// The same with these of its addresses only.
    pub(crate) fn keeping(&self, routes: Vec<Route>) -> Resolved {
        Resolved { target: self.target.clone(), routes: routes.into() }
    }

    /// Where the connection of this number goes and where it comes from.
    pub(crate) fn way(&self, number: u32) -> (&Peer, Option<SocketAddr>) {
        let number = number as usize;
        let Route { peer, sources } = &self.routes[number % self.routes.len()];
        // Divided first, or with as many sources as addresses each address would see one source only.
        let source = (!sources.is_empty()).then(|| sources[number / self.routes.len() % sources.len()]);
        (peer, source.map(|ip| SocketAddr::new(ip, 0)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Connections by peer and source, when so many are made.
    fn dealt(peers: &[&str], sources: &[&str], connections: u32) -> BTreeMap<(String, String), u32> {
        let sources: Vec<IpAddr> = sources.iter().map(|s| s.parse().unwrap()).collect();
        let route = |peer: &&str| Route::new(Peer::Tcp(peer.parse().unwrap()), &sources);
        let routes = peers.iter().filter_map(route).collect();
        let resolved = Resolved::at("127.0.0.1:1".parse().unwrap(), Policy::New).keeping(routes);
        let mut dealt = BTreeMap::new();
        for number in 0..connections {
            let (peer, source) = resolved.way(number);
            let source = source.map_or_else(|| "any".to_owned(), |s| s.ip().to_string());
            *dealt.entry((peer.to_string(), source)).or_default() += 1;
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
    }
}
