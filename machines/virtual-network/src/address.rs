//! Addresses of the hosts of a switch.

use std::net::Ipv4Addr;

/// Bits of their addresses that all hosts of a switch share.
pub(crate) const PREFIX: u8 = 24;

/// Last byte of the machine's own address.
const MACHINE: u8 = 1;

/// Last bytes of the hosts' addresses.
const HOSTS: std::ops::RangeInclusive<u8> = 2..=254;

/// A network of 256 addresses, `10.A.B.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) a: u8,
    pub(crate) b: u8,
}

impl Network {
    pub(crate) fn address(self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, self.a, self.b, host)
    }

    pub(crate) fn machine(self) -> Ipv4Addr {
        self.address(MACHINE)
    }

    /// Returns the lowest free address.
    pub(crate) fn free(self, taken: impl Fn(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        HOSTS.map(|host| self.address(host)).find(|address| !taken(*address))
    }
}

/// Returns a MAC address derived from the IP address, so that neighbours recognise a host that is created
/// again.
pub(crate) fn mac(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    // 02: locally administered, unicast.
    format!("02:b6:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_once_and_end() {
        let network = Network { a: 70, b: 3 };
        assert_eq!(network.free(|_| false), Some(Ipv4Addr::new(10, 70, 3, 2)));
        assert_eq!(network.free(|a| a.octets()[3] != 254), Some(Ipv4Addr::new(10, 70, 3, 254)));
        assert_eq!(network.free(|_| true), None);
        assert_eq!(mac(network.machine()), "02:b6:0a:46:03:01");
    }
}
