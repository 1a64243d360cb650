//! The network of another process as a series: of its namespace, where it has one of its own.

use std::path::PathBuf;

use barograph_model::Nanos;

use crate::ProbeError;
use crate::hot::HotFile;
use crate::text::{self, NetTotals};

/// Traffic at one instant, since the namespace was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetSample {
    /// When, as given by the caller.
    pub at: Nanos,
    /// All interfaces but loopback.
    pub network: NetTotals,
    /// TCP segments sent again.
    pub tcp_retransmits: Option<u64>,
}

/// What happened on a network between two samples, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetSeries {
    /// Bytes received.
    pub received_bytes_per_s: f64,
    /// Bytes sent.
    pub sent_bytes_per_s: f64,
    /// Packets received.
    pub received_packets_per_s: f64,
    /// Packets sent.
    pub sent_packets_per_s: f64,
    /// TCP segments sent again, counted and not per second.
    pub tcp_retransmits: Option<u64>,
}

impl NetSample {
    /// What happened between `earlier` and this sample.
    #[must_use]
    pub fn since(&self, earlier: &NetSample) -> NetSeries {
        let seconds = (self.at - earlier.at).as_secs_f64().max(1e-9);
        let (now, then) = (&self.network, &earlier.network);
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        NetSeries {
            received_bytes_per_s: rate(now.received_bytes, then.received_bytes),
            sent_bytes_per_s: rate(now.sent_bytes, then.sent_bytes),
            received_packets_per_s: rate(now.received_packets, then.received_packets),
            sent_packets_per_s: rate(now.sent_packets, then.sent_packets),
            tcp_retransmits: self
                .tcp_retransmits
                .zip(earlier.tcp_retransmits)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Reads the counters of the network that a process sees.
#[derive(Debug)]
pub struct NetProbe {
    dev: HotFile,
    snmp: Option<HotFile>,
}

impl NetProbe {
    /// The network of the process `pid`; `None` when it sees the same as this process, whose figures are the host's, or
    /// when nobody can tell.
    #[must_use]
    pub fn apart(pid: u32) -> Option<NetProbe> {
        network_apart(pid)?;
        let folder = PathBuf::from(format!("/proc/{pid}/net"));
        Some(NetProbe {
            dev: HotFile::open(folder.join("dev")).ok()?,
            snmp: HotFile::open_if_present(folder.join("snmp")),
        })
    }

    /// The counters now; `now` is the caller's clock.
    pub fn sample(&mut self, now: Nanos) -> Result<NetSample, ProbeError> {
        let (_, network) = self.dev.parse("network", text::network)?;
        let snmp = self.snmp.as_mut();
        let tcp_retransmits = snmp.and_then(|file| file.parse("figures", text::tcp_retransmits).ok());
        Ok(NetSample { at: now, network, tcp_retransmits })
    }
}

/// What the network of the process `pid` is called, the same for all processes that share it; `None` when it is that of
/// this process, or when nobody can tell.
#[must_use]
pub fn network_apart(pid: u32) -> Option<PathBuf> {
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let (its, own) = (namespace(&pid.to_string())?, namespace("self")?);
    (its != own).then_some(its)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second_and_counters_that_fall_are_zero() {
        let at = |at, received_bytes, sent_packets| NetSample {
            at: Nanos::from_secs(at),
            network: NetTotals { received_bytes, sent_packets, ..NetTotals::default() },
            tcp_retransmits: Some(at),
        };
        let series = at(3, 500, 7).since(&at(1, 100, 9));
        assert_eq!((series.received_bytes_per_s, series.sent_packets_per_s), (200.0, 0.0));
        assert_eq!(series.tcp_retransmits, Some(2));
    }

    #[test]
    fn the_own_network_is_not_apart() {
        assert!(NetProbe::apart(std::process::id()).is_none());
        assert!(NetProbe::apart(u32::MAX).is_none() && network_apart(std::process::id()).is_none());
    }
}
