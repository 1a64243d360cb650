//! Network traffic of another process as a series: of its namespace, if it has its own.

use std::path::PathBuf;

use barograph_model::Nanos;

use crate::ProbeError;
use crate::hot::HotFile;
use crate::text::{self, NetTotals};

/// Traffic since the namespace was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetSample {
    /// Time of the sample, given by the caller.
    pub at: Nanos,
    /// Traffic of all interfaces but loopback.
    pub network: NetTotals,
    /// TCP segments retransmitted.
    pub tcp_retransmits: Option<u64>,
}

/// Traffic between two samples, per second.
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
    /// TCP segments retransmitted, a count and not a rate.
    pub tcp_retransmits: Option<u64>,
}

impl NetSample {
    /// Returns the traffic between `earlier` and this sample.
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

/// Reads the counters of the network that a process sees. The open files belong to the network, so it can be
/// read after the process has ended, and the network lives as long.
#[derive(Debug)]
pub struct NetProbe {
    dev: HotFile,
    snmp: Option<HotFile>,
}

impl NetProbe {
    /// Opens the network of the process `pid`; `None` if it is that of this process, whose figures are the
    /// host's, or unknown.
    #[must_use]
    pub fn apart(pid: u32) -> Option<NetProbe> {
        network_apart(pid)?;
        let folder = PathBuf::from(format!("/proc/{pid}/net"));
        Some(NetProbe {
            dev: HotFile::open(folder.join("dev")).ok()?,
            snmp: HotFile::open_if_present(folder.join("snmp")),
        })
    }

    /// Takes a sample; `now` is the time of the caller's clock.
    pub fn sample(&mut self, now: Nanos) -> Result<NetSample, ProbeError> {
        let (_, network) = self.dev.parse("network", text::network)?;
        let snmp = self.snmp.as_mut();
        let tcp_retransmits = snmp.and_then(|file| file.parse("figures", text::tcp_retransmits).ok());
        Ok(NetSample { at: now, network, tcp_retransmits })
    }
}

/// Returns the name of the network of the process `pid`, equal for all processes that share it; `None` if it
/// is that of this process, or unknown.
#[must_use]
pub fn network_apart(pid: u32) -> Option<PathBuf> {
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let (its, own) = (namespace(&pid.to_string())?, namespace("self")?);
    (its != own).then_some(its)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    fn a_network_is_read_on_when_its_process_has_ended() {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "/bin/cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let probe = (0..50_000_000).find_map(|_| match child.try_wait().unwrap() {
            Some(ended) => Some(Err(ended)),
            None => NetProbe::apart(child.id()).map(Ok),
        });
        let mut probe = match probe.expect("it has a network or ends") {
            Ok(probe) => probe,
            Err(ended) => {
                println!("skipped: no network can be made: {ended}");
                return;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(NetProbe::apart(child.id()).is_none());
        let sample = probe.sample(Nanos::from_secs(1)).unwrap();
        assert_eq!((sample.network, sample.tcp_retransmits), (NetTotals::default(), Some(0)));
    }

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
