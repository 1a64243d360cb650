//! Reports of guests: their kernels count what this machine's kernel cannot see.
//!
//! Guests are asked beside the intervals, and rows follow when an answer arrives. A guest that does not
//! answer delays nothing and is asked again.

use std::collections::{BTreeMap, BTreeSet};

use barograph_cgroup::Usage;
use barograph_model::Nanos;
use barograph_platform::{BoxFuture, Fault, GuestCounters, Site};
use barograph_probe::HostSample;
use barograph_record::ProbeRow;
use futures::stream::{FuturesUnordered, StreamExt};

use super::host_row;
use crate::parts;

/// Interval between questions. A guest has one or two cores, often emulated, and an answer takes it
/// milliseconds.
const EVERY: Nanos = Nanos::from_secs(5);

/// Answer of a guest: its name, the time of the question, and its counters.
type GuestAnswer = (String, Nanos, Result<GuestCounters, Fault>);

/// All guests of a deployment.
pub(crate) struct Guests<'d> {
    seam: Option<&'d dyn barograph_platform::Guests>,
    asking: FuturesUnordered<BoxFuture<'d, GuestAnswer>>,
    /// Guests that have not answered yet.
    asked: BTreeSet<String>,
    next: Nanos,
    before: BTreeMap<String, Sample>,
    /// Guests whose silence was reported.
    silent: BTreeSet<String>,
}

/// Sample of a guest and its units.
struct Sample {
    host: HostSample,
    agent: Nanos,
    units: BTreeMap<String, Usage>,
}

impl<'d> Guests<'d> {
    /// Guests of a site; none if its hosts have no kernels of their own.
    pub(crate) fn new(site: Option<&'d dyn Site>) -> Self {
        Guests {
            seam: site.and_then(|site| site.guests()),
            asking: FuturesUnordered::new(),
            asked: BTreeSet::new(),
            next: Nanos::ZERO,
            before: BTreeMap::new(),
            silent: BTreeSet::new(),
        }
    }

    /// Asks every guest that is due and has no question open.
    pub(crate) fn ask(&mut self, now: Nanos) {
        let Some(seam) = self.seam.filter(|_| now >= self.next) else { return };
        self.next = now + EVERY;
        for host in seam.hosts() {
            if self.asked.insert(host.clone()) {
                self.asking.push(Box::pin(async move {
                    let told = seam.counters(&host).await;
                    (host, now, told)
                }));
            }
        }
    }

    /// Waits for the next answer; never returns if no question is open. May be dropped and called again.
    pub(crate) async fn answer(&mut self) -> GuestAnswer {
        match self.asking.next().await {
            Some(told) => {
                self.asked.remove(&told.0);
                told
            }
            None => std::future::pending().await,
        }
    }

    /// Rows of the guest and its units since its last answer; and a note when the guest fails to answer for
    /// the first time.
    pub(crate) fn rows(
        &mut self,
        (guest, asked, told): GuestAnswer,
        now: Nanos,
    ) -> (Vec<ProbeRow>, Option<String>) {
        let sample = told.map_err(|fault| fault.to_string()).and_then(|counters| {
            Sample::of(&counters).ok_or_else(|| "its counters cannot be read".to_owned())
        });
        let sample = match sample {
            Ok(sample) => sample,
            Err(why) => {
                let first = self.silent.insert(guest.clone());
                return (
                    Vec::new(),
                    first.then(|| format!("guest {guest} does not say what it uses: {why}")),
                );
            }
        };
        // The counters were read between question and answer.
        let at_s = (asked.as_secs_f64() + now.as_secs_f64()) / 2.0;
        let rows =
            self.before.get(&guest).map_or_else(Vec::new, |before| between(&guest, at_s, before, &sample));
        self.before.insert(guest, sample);
        (rows, None)
    }
}

impl Sample {
    fn of(counters: &GuestCounters) -> Option<Sample> {
        let at = Nanos::from(counters.at);
        let host = HostSample::of_texts(at, counters.hz, &counters.disks, |name| counters.text(name))?;
        let units = counters.units.iter().map(|unit| (unit.unit.clone(), Usage::of_texts(&unit.files)));
        Some(Sample { host, agent: Nanos::from(counters.agent), units: units.collect() })
    }
}

fn between(guest: &str, at_s: f64, then: &Sample, now: &Sample) -> Vec<ProbeRow> {
    let network = now.host.since(&then.host).network;
    let mut rows = vec![ProbeRow {
        subject: format!("guest-{guest}"),
        net_rx_bytes_s: network.map(|net| net.received_bytes_per_s),
        net_tx_bytes_s: network.map(|net| net.sent_bytes_per_s),
        net_rx_packets_s: network.map(|net| net.received_packets_per_s),
        net_tx_packets_s: network.map(|net| net.sent_packets_per_s),
        page_cache_bytes: Some(now.host.memory.cached_bytes),
        ..host_row(at_s, &now.host, &then.host)
    }];
    let span = now.host.at - then.host.at;
    // Cost of the probe in the guest, with all other work of the agent; its time in the kernel cannot be
    // separated.
    let agent = now.agent.since(then.agent).as_secs_f64() / span.as_secs_f64().max(1e-9);
    rows.push(ProbeRow {
        at_s,
        subject: format!("guest-{guest}/agent"),
        cpu_user_cores: Some(agent),
        ..ProbeRow::default()
    });
    // A unit seen for the first time has no rates yet.
    let unit = |(name, usage): (&String, &Usage)| ProbeRow {
        at_s,
        subject: format!("guest-{guest}/{name}"),
        ..parts::of_group(then.units.get(name).unwrap_or(&Usage::default()), usage, span)
    };
    rows.extend(now.units.iter().map(unit));
    rows
}

#[cfg(test)]
#[path = "guests_tests.rs"]
mod tests;
