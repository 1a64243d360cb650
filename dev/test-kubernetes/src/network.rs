//! Addresses of pods and services, beside those of the cluster's hosts.

use std::net::{IpAddr, Ipv4Addr};

/// Distance of the second byte: switches are below 10.64.0.0/10, pods and services below 10.128.0.0/10, so that
/// every switch has its own.
const BESIDE: u8 = 64;

/// Addresses of the pods of a node: 30 of them.
const OF_NODE: u8 = 32;

/// First address of services; the lower half is of pods.
const SERVICES: u8 = 128;

/// Most nodes.
pub(crate) const MOST_NODES: usize = 4;

/// Networks of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    b: u8,
    c: u8,
}

impl Network {
    /// Makes the networks beside the switch with this address of the machine.
    pub(crate) fn beside(leg: IpAddr) -> Result<Self, String> {
        match leg {
            IpAddr::V4(leg) => {
                let [_, b, c, _] = leg.octets();
                let b = b.checked_add(BESIDE).ok_or_else(|| format!("no network is beside {leg}"))?;
                Ok(Network { b, c })
            }
            IpAddr::V6(leg) => Err(format!("the switch has no address of version 4 ({leg})")),
        }
    }

    fn at(self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, self.b, self.c, last)
    }

    /// Pods of a node.
    pub(crate) fn pods(self, node: usize) -> String {
        let first = u8::try_from(node).unwrap_or(u8::MAX).saturating_mul(OF_NODE);
        format!("{}/27", self.at(first))
    }

    /// Pods of all nodes.
    pub(crate) fn all_pods(self) -> String {
        format!("{}/25", self.at(0))
    }

    pub(crate) fn services(self) -> String {
        format!("{}/25", self.at(SERVICES))
    }

    /// The first service, which is the API server's.
    pub(crate) fn first_service(self) -> Ipv4Addr {
        self.at(SERVICES + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_beside_the_switch_and_apart() {
        let network = Network::beside("10.70.3.1".parse().unwrap()).unwrap();
        assert_eq!([network.pods(0), network.pods(1)], ["10.134.3.0/27", "10.134.3.32/27"]);
        assert_eq!(network.pods(MOST_NODES - 1), "10.134.3.96/27");
        assert_eq!(network.all_pods(), "10.134.3.0/25");
        assert_eq!(network.services(), "10.134.3.128/25");
        assert_eq!(network.first_service().to_string(), "10.134.3.129");
        assert!(Network::beside("fd00::1".parse().unwrap()).is_err());
    }
}
