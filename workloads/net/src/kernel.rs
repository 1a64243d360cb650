//! What the kernel of one end counts: processor time of the process, packets and retransmits of its network
//! namespace, and the state of its connections.

use std::fs::read_to_string;
use std::os::unix::fs::MetadataExt as _;

use barograph_data::mix;
use rustix::time::{ClockId, clock_gettime};

use crate::tcp_info::{ConnectionSums, Connections};

/// Counts of one end so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Processor time of the process, in microseconds.
    pub(crate) cpu_us: u64,
    /// Packets that the network layer received, after merging.
    pub(crate) packets: u64,
    /// TCP segments sent again.
    pub(crate) retransmits: u64,
    /// Identity of the network namespace: ends with the same one share packets and retransmits.
    pub(crate) namespace: u64,
    /// State of the connections of this moment.
    pub(crate) connections: ConnectionSums,
}

impl Report {
    /// Reads all counts of this end. Counts that the kernel does not have are 0.
    pub(crate) fn read(connections: &mut Connections) -> Self {
        let snmp = read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
        let snmp6 = read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
        Report {
            cpu_us: cpu_us(),
            packets: count(&snmp, "Ip:", "InReceives") + count6(&snmp6, "Ip6InReceives"),
            retransmits: count(&snmp, "Tcp:", "RetransSegs"),
            namespace: namespace(),
            connections: connections.sums(),
        }
    }
}

/// Processor time of this process, in microseconds.
fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// A count of the table of a protocol, which is a line of names and a line of values.
fn count(table: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter(|line| line.starts_with(protocol));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// A count of the table of IPv6, which has a name and a value in each line.
fn count6(table: &str, name: &str) -> u64 {
    let mut pairs = table.lines().filter_map(|line| line.split_once(char::is_whitespace));
    pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// Identity of the network namespace of this thread, on this boot of this machine.
fn namespace() -> u64 {
    let inode = std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |data| data.ino());
    let boot = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.bytes().fold(mix(inode), |sum, byte| mix(sum ^ u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_name() {
        let snmp = "Ip: Forwarding InReceives\nIp: 1 77\nTcp: RtoMin RetransSegs\nTcp: 200 5\n";
        assert_eq!((count(snmp, "Ip:", "InReceives"), count(snmp, "Tcp:", "RetransSegs")), (77, 5));
        assert_eq!((count(snmp, "Udp:", "InReceives"), count(snmp, "Ip:", "Other")), (0, 0));
        let snmp6 = "Ip6InReceives                   \t12\nIp6InHdrErrors  0\n";
        assert_eq!((count6(snmp6, "Ip6InReceives"), count6(snmp6, "Ip6Other")), (12, 0));
    }

    #[test]
    fn a_namespace_is_the_same_each_time() {
        assert_eq!(namespace(), namespace());
    }
}
