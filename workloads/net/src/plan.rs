//! The keys of the network workload in plans: `[net]`, and the responder of a deployment.

mod checked;
mod explained;

use std::sync::Arc;

use barograph_model::{MeasureSpec, Nanos, Share};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::datagram;
use crate::measures::MEASURES;
use crate::pattern::Pattern;
use crate::seam::{NAME, Net};
use crate::wire::{LARGEST, RunSettings};

/// Deployable tiers.
pub(crate) const TIERS: [&str; 1] = ["responder"];

/// Default bytes of a message and of a read: the block of iperf3.
const USUAL_BLOCK: u64 = 128 * 1024;

/// Largest socket buffer, in bytes.
const LARGEST_BUFFER: u64 = 1 << 30;

/// Network settings of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetPlan {
    pub(crate) run: RunSettings,
    /// Time of a user between the end of a message and the next.
    pub(crate) think: Nanos,
    pub(crate) rules: Rules,
}

/// Criteria of a passing load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// Quantile of response time that must be within the limit.
    pub(crate) quantile: Share,
    /// The limit; `None` without a rule for response time.
    pub(crate) limit: Option<Nanos>,
    /// Largest share of failed operations.
    pub(crate) failures: Share,
    /// Least rate of both directions, in gigabits per second; 0 without a rule.
    pub(crate) least_gbit: f64,
}

impl NetPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }
}

/// Host and port of an address, as in `net://192.0.2.1:5380`.
pub(crate) fn host_and_port(url: &str) -> Result<(String, u16), &'static str> {
    let place = match url.split_once("://") {
        Some(("net", place)) => place,
        Some(_) => return Err("its scheme is not net"),
        None => url,
    };
    let (host, port) = place.rsplit_once(':').ok_or("it has no port")?;
    let port =
        port.parse::<u16>().ok().filter(|port| *port > 0).ok_or("its port is no number from 1 to 65535")?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if bare.is_empty() || (bare.contains(':') && bare == host) {
        return Err("its host is empty, or an IPv6 address without brackets");
    }
    Ok((bare.to_owned(), port))
}

impl WorkloadKeys for Net {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let pattern = g.choice("net.pattern", &Pattern::NAMES, "to").and_then(Pattern::find);
        let datagrams = g.choice("net.protocol", &["tcp", "udp"], "tcp").map(|name| name == "udp");
        let (sizes, usual, least) = match datagrams {
            Some(true) => {
                (datagram::HEAD as u64..=datagram::LARGEST.into(), datagram::USUAL, datagram::HEAD as u64)
            }
            _ => (1..=LARGEST.into(), USUAL_BLOCK, 1),
        };
        let message = g.number("net.message_bytes", sizes.clone(), usual);
        let request = g.number("net.request_bytes", sizes.clone(), least);
        let answer = g.number("net.answer_bytes", sizes, least);
        let read = g.number("net.read_bytes", 1..=LARGEST.into(), USUAL_BLOCK);
        let send_buffer = g.number("net.send_buffer_bytes", 0..=LARGEST_BUFFER, 0);
        let receive_buffer = g.number("net.receive_buffer_bytes", 0..=LARGEST_BUFFER, 0);
        // Streams as iperf3 and netperf have them; a request waits for nothing but its answer.
        let nodelay = g.flag("net.nodelay", !pattern.is_some_and(Pattern::is_stream));
        let receive = g.choice("net.receive", &["copy", "discard"], "copy");
        let verifies = g.flag("net.verify", false);
        let think_ms = g.fraction("net.think_ms", 0.0..=3_600_000.0, 0.0);
        let rules = rules(g);
        let run = RunSettings {
            pattern: pattern?,
            verifies: verifies?,
            discards: receive? == "discard",
            delays: !nodelay?,
            datagrams: datagrams?,
            message: message? as u32,
            request: request? as u32,
            answer: answer? as u32,
            read: read? as u32,
            send_buffer: send_buffer? as u32,
            receive_buffer: receive_buffer? as u32,
        };
        Some(Arc::new(NetPlan { run, think: Nanos::from_secs_f64(think_ms? / 1e3), rules: rules? }))
    }
}

fn rules(g: &mut SettingsReader) -> Option<Rules> {
    let quantile = g.fraction("net.quantile", 0.01..=0.99999, 0.99);
    let limit_ms = g.fraction("net.limit_ms", 0.0..=3_600_000.0, 0.0);
    let failures = g.fraction("net.failures", 0.0..=1.0, 0.001);
    let least_gbit = g.fraction("net.least_gbit_per_s", 0.0..=100_000.0, 0.0);
    Some(Rules {
        quantile: Share::new(quantile?).ok()?,
        limit: Some(Nanos::from_secs_f64(limit_ms? / 1e3)).filter(|limit| *limit > Nanos::ZERO),
        failures: Share::new(failures?).ok()?,
        least_gbit: least_gbit?,
    })
}

#[cfg(test)]
mod tests;
