//! Choice of a network that nothing on this machine uses.

use std::net::Ipv4Addr;

use crate::address::{Network, PREFIX};
use crate::names::hash;

/// Number of networks to choose from: `10.64.0.0/10`, in pieces of 256 addresses.
const PIECES: u32 = 1 << 14;
/// First address of the networks to choose from.
const FIRST: u32 = 0x0a40_0000;

/// A route of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    address: u32,
    prefix: u8,
}

impl Route {
    fn overlaps(self, other: Route) -> bool {
        let shorter = self.prefix.min(other.prefix);
        let mask = u32::MAX.checked_shl(u32::from(32 - shorter)).unwrap_or(0);
        (self.address ^ other.address) & mask == 0
    }
}

/// Parses the destinations in the output of `ip -4 route show table all`, without the default route.
pub(crate) fn routes(text: &str) -> Vec<Route> {
    text.lines().filter_map(destination).collect()
}

/// Parses a line, which begins with the destination, or with a kind such as `local` before it.
fn destination(line: &str) -> Option<Route> {
    line.split_ascii_whitespace().take(2).find_map(|word| {
        let (address, prefix) = word.split_once('/').unwrap_or((word, "32"));
        let address = u32::from(address.parse::<Ipv4Addr>().ok()?);
        let prefix = prefix.parse().ok().filter(|p| (1..=32).contains(p))?;
        Some(Route { address, prefix })
    })
}

/// Returns a free network. The search begins at a place derived from the site's name, so that simultaneous
/// sites of machines connected to each other rarely collide.
pub(crate) fn choose(id: &str, routes: &[Route]) -> Option<Network> {
    let begin = (hash(id) % u64::from(PIECES)) as u32;
    let pieces = || (0..PIECES).map(move |i| FIRST + (((begin + i) % PIECES) << 8));
    let free = |address: u32, in_the_way: &dyn Fn(Route) -> bool| {
        let piece = Route { address, prefix: PREFIX };
        !routes.iter().any(|route| route.overlaps(piece) && in_the_way(*route))
    };
    // A piece of a larger routed network, such as a private network of a company, is chosen only if no other
    // is free: this machine's route is more specific and takes precedence.
    pieces()
        .find(|address| free(*address, &|_| true))
        .or_else(|| pieces().find(|address| free(*address, &|route| route.prefix >= PREFIX)))
        .map(|address| {
            let [_, a, b, _] = address.to_be_bytes();
            Network { a, b }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "default via 192.0.2.1 dev eth0 \n10.64.0.0/24 dev bg1 proto kernel scope link src 10.64.0.1 \n\
        local 10.64.7.1 dev bg2 table local proto kernel scope host src 10.64.7.1 \nunreachable 10.65.0.0/16 metric 1\n\
        broadcast 127.255.255.255 dev lo table local\n\nnonsense\n";

    #[test]
    fn destinations_are_read() {
        let found = routes(TEXT);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], Route { address: 0x0a40_0000, prefix: 24 });
        assert_eq!(found[1], Route { address: 0x0a40_0701, prefix: 32 });
        assert_eq!(found[2].prefix, 16);
    }

    #[test]
    fn what_is_in_use_is_not_chosen() {
        let in_use = routes(TEXT);
        for id in 0..2000 {
            let network = choose(&id.to_string(), &in_use).unwrap();
            assert!((64..128).contains(&network.a) && network.a != 65, "{network:?}");
            assert!(network != Network { a: 64, b: 0 } && network != Network { a: 64, b: 7 });
        }
        assert_ne!(choose("a", &[]), choose("b", &[]));
    }

    #[test]
    fn a_large_network_is_used_only_in_need_and_a_full_one_never() {
        assert!(choose("a", &routes("10.0.0.0/8 via 192.0.2.1")).is_some());
        let all: String = (0..PIECES).map(|i| format!("{}/24\n", Ipv4Addr::from(FIRST + (i << 8)))).collect();
        assert_eq!(choose("a", &routes(&all)), None);
    }
}
