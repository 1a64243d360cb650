//! Addresses of the hosts of a switch.

use std::net::Ipv4Addr;

/// All hosts of a switch share the first 24 bits of their addresses.
pub(crate) const PREFIX: u8 = 24;

/// The machine's own.
const MACHINE: u8 = 1;

/// The first and the last of the hosts'.
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

    /// The lowest address that nobody has.
    pub(crate) fn free(self, taken: impl Fn(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        HOSTS.map(|host| self.address(host)).find(|address| !taken(*address))
    }
}

/// A device's address that follows from the IP address, so that a host that is made again is known to its neighbours.
pub(crate) fn mac(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    // 02: chosen by us and for one device.
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
