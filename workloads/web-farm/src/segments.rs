//! Segments of TCP that the kernel of the driver's network received and sent, for the packet rate each way.
//!
//! With offloads a segment is more than one packet of the wire. Servers in the driver's own network are counted too.

use std::fs;

use barograph_workload::Gauge;

/// Counts since the start of the network namespace: received, sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    received: u64,
    sent: u64,
}

impl Segments {
    /// Reads the counts of this moment; `None` where the kernel has none.
    pub(crate) fn now() -> Option<Self> {
        parsed(&fs::read_to_string("/proc/self/net/snmp").ok()?)
    }

    /// Segments since earlier counts.
    pub(crate) fn since(self, earlier: Segments) -> Vec<Gauge> {
        let gauge = |name, now: u64, then: u64| Gauge {
            name,
            unit: "segments",
            value: now.saturating_sub(then) as f64,
        };
        vec![
            gauge("tcp_segments_received", self.received, earlier.received),
            gauge("tcp_segments_sent", self.sent, earlier.sent),
        ]
    }
}

/// Parses a line of names and a line of values, both of which begin with `Tcp:`.
fn parsed(text: &str) -> Option<Segments> {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let of = |name: &str| {
        let at = names.split_ascii_whitespace().position(|known| known == name)?;
        values.split_ascii_whitespace().nth(at)?.parse().ok()
    };
    Some(Segments { received: of("InSegs")?, sent: of("OutSegs")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_their_names() {
        let text = "Ip: InReceives\nIp: 9\nTcp: RtoMin InSegs OutSegs\nTcp: 200 70 90\n";
        let earlier = Segments { received: 50, sent: 90 };
        let found = parsed(text).unwrap();
        assert_eq!(found, Segments { received: 70, sent: 90 });
        let gauges: Vec<_> = found.since(earlier).iter().map(|gauge| (gauge.name, gauge.value)).collect();
        assert_eq!(gauges, [("tcp_segments_received", 20.0), ("tcp_segments_sent", 0.0)]);
        for broken in
            ["", "Tcp: InSegs OutSegs\n", "Tcp: InSegs\nTcp: 5\n", "Tcp: InSegs OutSegs\nTcp: 5 x\n"]
        {
            assert_eq!(parsed(broken), None, "{broken:?}");
        }
    }
}
