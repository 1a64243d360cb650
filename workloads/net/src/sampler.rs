//! The sampler: a thread that asks both kernels a few times a second, and leaves what was counted since to the next
//! operation that ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::CounterId;

use crate::control::Control;
use crate::datagram::DatagramCounts;
use crate::kernel::Report;
use crate::measures::{CPU, DELIVERY, DRIVER_CPU, PACKETS, RETRANSMITS, RTT, SAMPLES, TARGET_CPU, WINDOW};
use crate::pattern::Pattern;
use crate::tcp_info::{ConnectionSums, Connections, Port};

/// Time between two samples: several in an interval, and each costs the ends some tens of microseconds.
const PERIOD: Duration = Duration::from_millis(100);

/// Counters that samples raise. The last five have other names with datagrams, as a test holds.
const COUNTERS: [CounterId; 9] =
    [DRIVER_CPU, TARGET_CPU, CPU, PACKETS, RETRANSMITS, SAMPLES, RTT, WINDOW, DELIVERY];

/// Amounts by counter, in the order of [`COUNTERS`].
type Amounts = [u64; COUNTERS.len()];

/// A running sampler. Dropping it ends its thread after the sample in progress.
#[derive(Debug)]
pub(crate) struct Sampler {
    samples: Arc<Samples>,
    _stop: SyncSender<()>,
}

/// The responder that a sampler asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplerTarget {
    pub(crate) address: SocketAddr,
    /// Port of the connections of the run.
    pub(crate) port: u16,
    pub(crate) pattern: Pattern,
    /// Names the run, where it has datagrams.
    pub(crate) datagrams: Option<u64>,
}

/// Amounts that no operation has counted yet.
#[derive(Debug, Default)]
struct Samples {
    is_fresh: AtomicBool,
    amounts: Mutex<Amounts>,
}

impl Sampler {
    /// Starts sampling.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(target: SamplerTarget) -> std::io::Result<Self> {
        let samples = Arc::<Samples>::default();
        let (stop, stopped) = sync_channel(1);
        let theirs = Arc::clone(&samples);
        let sampling = move || Sampling::new(target).run(&stopped, &theirs);
        std::thread::Builder::new().name("net-sampler".to_owned()).spawn(sampling)?;
        Ok(Sampler { samples, _stop: stop })
    }

    /// Hands over what was sampled since the last call, by counter.
    pub(crate) fn take(&self, add: impl FnMut((CounterId, u64))) {
        let samples = &self.samples;
        if samples.is_fresh.load(Ordering::Relaxed) && samples.is_fresh.swap(false, Ordering::AcqRel) {
            let mut amounts = samples.amounts.lock().unwrap_or_else(PoisonError::into_inner);
            let amounts = std::mem::take(&mut *amounts);
            COUNTERS.into_iter().zip(amounts).for_each(add);
        }
    }
}

impl Samples {
    fn add(&self, more: &Amounts) {
        let mut amounts = self.amounts.lock().unwrap_or_else(PoisonError::into_inner);
        amounts.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        drop(amounts);
        self.is_fresh.store(true, Ordering::Release);
    }
}

/// State of the sampler's thread.
struct Sampling {
    target: SamplerTarget,
    line: Option<Control>,
    connections: Connections,
    driver: Option<Report>,
    responder: Option<Report>,
    datagrams: DatagramCounts,
}

impl Sampling {
    fn new(target: SamplerTarget) -> Self {
        let connections = Connections::new(Port::To(target.port));
        Sampling {
            target,
            line: None,
            connections,
            driver: None,
            responder: None,
            datagrams: DatagramCounts::default(),
        }
    }

    fn run(mut self, stopped: &Receiver<()>, samples: &Samples) {
        loop {
            let amounts = self.sample();
            samples.add(&amounts);
            if stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// What both ends counted since the last sample.
    fn sample(&mut self) -> Amounts {
        let driver = Report::read(&mut self.connections);
        let responder = self.ask();
        let since = |now: &Report, before: Option<Report>| {
            before.map_or_else(Deltas::default, |before| Deltas::new(now, &before))
        };
        let own = since(&driver, self.driver.replace(driver));
        let theirs = responder.map(|now| since(&now, self.responder.replace(now))).unwrap_or_default();
        let is_shared = responder.is_some_and(|there| there.namespace == driver.namespace);
        let sender =
            if self.target.pattern.target_streams() { responder.unwrap_or_default() } else { driver };
        let mut amounts = amounts(self.target.pattern, (own, theirs), is_shared, &sender.connections);
        if self.target.datagrams.is_some() {
            amounts[4..].copy_from_slice(&self.datagrams());
        }
        amounts
    }

    /// Datagrams since the last sample: all, those that arrived, are lost and were reordered, and the sum of jitter.
    fn datagrams(&mut self) -> [u64; 5] {
        let asked = self.line.as_mut().zip(self.target.datagrams);
        let Some(now) = asked.and_then(|(line, token)| line.datagrams(token).ok()) else { return [0; 5] };
        let before = std::mem::replace(&mut self.datagrams, now);
        let [arrived, lost, reordered, jitter] = [
            (now.arrived, before.arrived),
            (now.lost, before.lost),
            (now.reordered, before.reordered),
            (now.jitter_ns, before.jitter_ns),
        ]
        .map(|(now, before)| now.saturating_sub(before));
        [arrived + lost, arrived, lost, reordered, jitter]
    }

    /// Asks the responder; `None` while it does not answer.
    fn ask(&mut self) -> Option<Report> {
        let mut line = match self.line.take() {
            Some(line) => line,
            None => Control::connect(self.target.address).ok()?,
        };
        let report = line.report(self.target.port).ok()?;
        self.line = Some(line);
        Some(report)
    }
}

/// Counts between two reports of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Deltas {
    cpu_us: u64,
    packets: u64,
    retransmits: u64,
}

impl Deltas {
    /// Counts since `before`; none if the end was started again since.
    fn new(now: &Report, before: &Report) -> Self {
        Deltas {
            cpu_us: now.cpu_us.saturating_sub(before.cpu_us),
            packets: now.packets.saturating_sub(before.packets),
            retransmits: now.retransmits.saturating_sub(before.retransmits),
        }
    }
}

/// Amounts of a sample. Ends in one network namespace share its counts; otherwise packets are those of the ends
/// that receive messages.
fn amounts(
    pattern: Pattern,
    (driver, target): (Deltas, Deltas),
    is_shared: bool,
    sender: &ConnectionSums,
) -> Amounts {
    let packets = match pattern {
        _ if is_shared => driver.packets,
        Pattern::To => target.packets,
        Pattern::From => driver.packets,
        Pattern::Both | Pattern::Request | Pattern::Connect => driver.packets + target.packets,
    };
    let retransmits = if is_shared { driver.retransmits } else { driver.retransmits + target.retransmits };
    let ConnectionSums { samples, round_trip_us, window, delivery_mbit } = *sender;
    let cpu = driver.cpu_us + target.cpu_us;
    [driver.cpu_us, target.cpu_us, cpu, packets, retransmits, samples, round_trip_us, window, delivery_mbit]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::{ARRIVED, DATAGRAMS, JITTER, LOST, REORDERED};

    #[test]
    fn datagrams_have_the_last_counters() {
        assert_eq!(COUNTERS[4..], [DATAGRAMS, ARRIVED, LOST, REORDERED, JITTER]);
    }

    #[test]
    fn packets_are_those_of_the_ends_that_receive() {
        let driver = Deltas { cpu_us: 1, packets: 10, retransmits: 3 };
        let target = Deltas { cpu_us: 2, packets: 200, retransmits: 4 };
        let of = |pattern, is_shared| {
            let all = amounts(pattern, (driver, target), is_shared, &ConnectionSums::default());
            (all[2], all[3], all[4])
        };
        assert_eq!(of(Pattern::To, false), (3, 200, 7));
        assert_eq!(of(Pattern::From, false), (3, 10, 7));
        assert_eq!(of(Pattern::Both, false), (3, 210, 7));
        assert_eq!(of(Pattern::To, true), (3, 10, 3));
    }

    #[test]
    fn an_end_that_was_started_again_counts_nothing_back() {
        let before = Report { cpu_us: 9, packets: 9, ..Report::default() };
        assert_eq!(
            Deltas::new(&Report { packets: 12, ..Report::default() }, &before),
            Deltas { packets: 3, ..Deltas::default() }
        );
    }

    #[test]
    fn an_amount_is_counted_once() {
        let samples = Arc::<Samples>::default();
        let (stop, _stopped) = sync_channel(1);
        let sampler = Sampler { samples: Arc::clone(&samples), _stop: stop };
        samples.add(&[1; COUNTERS.len()]);
        samples.add(&[2; COUNTERS.len()]);
        let mut cpu_us = 0;
        for _ in 0..2 {
            sampler.take(|(counter, amount)| cpu_us += if counter == CPU { amount } else { 0 });
        }
        assert_eq!(cpu_us, 3);
    }
}
