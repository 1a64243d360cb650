//! Calibration of a delay: measured with packets between two hosts, without and with it.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_platform::{Facts, LinkSpec};

use crate::clock::now_ns;
use crate::relay::RelayCount;
use crate::switch::{Host, Switch, blocking};
use crate::{SwitchError, inside};

/// Number of packets: enough for a 99th percentile.
const PACKETS: usize = 200;

/// Time between packets: the kernel's waits for a socket are not finer than this on many machines.
const EVERY_NS: u64 = 4_000_000;

/// Additional wait for answers after the last packet.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Longest time until hosts know each other's addresses: a lost request is repeated after a second.
const ACQUAINTED_WITHIN_NS: u64 = 10_000_000_000;

/// Number of a packet that is not measured.
const GREETING: u64 = u64::MAX;

/// Longest wait for one packet, and so the delay until a thread notices its end.
const LOOK: Duration = Duration::from_millis(20);

/// Median, 99th percentile and maximum of some times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelaySpread {
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Maximum.
    pub max: Duration,
}

/// Result of a calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Requested delay, each way.
    pub delay: Duration,
    /// Whether the kernel delays; otherwise a relay does.
    pub by_kernel: bool,
    /// Whether relays run before everything else on this machine.
    pub relays_first: bool,
    /// Round trips of a small packet without delay.
    pub plain: DelaySpread,
    /// Round trips with the delay.
    pub delayed: DelaySpread,
    /// Error of both ways together: the round trip less the median without delay and twice the delay.
    pub added: DelaySpread,
    /// Figures of the relay for these packets: the rest of the error belongs to the measurement.
    pub relay: Option<RelayCount>,
    /// Packets without an answer.
    pub unanswered: usize,
}

impl Calibration {
    /// Returns the facts for the disclosure.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let text = |s: &DelaySpread| format!("p50 {:?}, p99 {:?}, longest {:?}", s.p50, s.p99, s.max);
        let by = match (self.by_kernel, self.relays_first) {
            (true, _) => "netem",
            (false, true) => "relays in user space with real-time priority",
            (false, false) => "relays in user space without the right to real-time priority",
        };
        let mut facts = vec![
            ("delays by".to_owned(), by.to_owned()),
            ("round trip without delay".to_owned(), text(&self.plain)),
            (format!("error of a round trip with a delay of {:?} each way", self.delay), text(&self.added)),
            ("packets unanswered in this measurement".to_owned(), self.unanswered.to_string()),
        ];
        if let Some(count) = &self.relay {
            facts.push(("the relay of this measurement".to_owned(), count.to_string()));
        }
        facts
    }
}

/// Names that plans cannot use.
const HOSTS: [&str; 2] = ["measure-1", "measure-2"];

pub(crate) async fn calibrate(switch: &Switch, delay: Duration) -> Result<Calibration, SwitchError> {
    let [near, far] = HOSTS;
    let plain = LinkSpec::default();
    let near = switch.host(near, &plain).await?;
    let measured = match switch.host(far, &plain).await {
        Ok(far) => {
            let measured = between(switch, &near, &far, delay).await;
            switch.remove(&far.name).await.and(measured)
        }
        Err(error) => Err(error),
    };
    switch.remove(&near.name).await.and(measured)
}

async fn between(
    switch: &Switch,
    near: &Host,
    far: &Host,
    delay: Duration,
) -> Result<Calibration, SwitchError> {
    let plain = trips(near, far, Duration::ZERO).await?;
    switch.shape(&far.name, LinkSpec { delay, ..LinkSpec::default() }).await?;
    let delayed = trips(near, far, delay).await?;
    let counts = switch.relay_counts()?;
    let relay = counts.into_iter().find_map(|(host, count)| (host == far.name).then_some(count));
    let base = spread(&plain)?;
    let wanted = base.p50 + 2 * delay;
    let added: Vec<Duration> = delayed.iter().map(|trip| trip.saturating_sub(wanted)).collect();
    Ok(Calibration {
        delay,
        by_kernel: switch.kernel_delays(),
        relays_first: switch.relays_come_first(),
        plain: base,
        delayed: spread(&delayed)?,
        added: spread(&added)?,
        relay,
        unanswered: 2 * PACKETS - plain.len() - delayed.len(),
    })
}

fn spread(times: &[Duration]) -> Result<DelaySpread, SwitchError> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| {
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    };
    match (at(0.5), at(0.99), sorted.last()) {
        (Some(p50), Some(p99), Some(max)) => Ok(DelaySpread { p50, p99, max: *max }),
        _ => Err(SwitchError::Calibrate("no packet came back".to_owned())),
    }
}

/// Measures round trips of packets from one host to another and back.
async fn trips(near: &Host, far: &Host, delay: Duration) -> Result<Vec<Duration>, SwitchError> {
    let (near, far) = (near.clone(), far.clone());
    blocking(move || {
        let echo = socket(&far.namespace, far.address)?;
        let asker = socket(&near.namespace, near.address)?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let echoing = std::thread::Builder::new().name("echo".to_owned());
        let echoing_at = echo.local_addr().map_err(failed)?;
        let thread = echoing.spawn(move || return_packets(&echo, &told)).map_err(failed)?;
        let connected = asker.connect(echoing_at);
        let times = connected.and_then(|()| greet(&asker, delay)).and_then(|()| ask(&asker, delay));
        let times = times.map_err(failed);
        stop.store(true, Ordering::Relaxed);
        match thread.join() {
            Ok(Ok(())) => times,
            Ok(Err(error)) => Err(failed(error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
    .await
}

#[expect(clippy::needless_pass_by_value, reason = "used as the last step of a chain")]
fn failed(error: io::Error) -> SwitchError {
    SwitchError::Calibrate(error.to_string())
}

fn socket(namespace: &str, address: IpAddr) -> Result<UdpSocket, SwitchError> {
    let socket = inside(namespace, move || UdpSocket::bind((address, 0)))?.map_err(failed)?;
    socket.set_read_timeout(Some(LOOK)).map_err(failed)?;
    Ok(socket)
}

fn none_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn return_packets(socket: &UdpSocket, stop: &AtomicBool) -> io::Result<()> {
    let mut packet = [0; 64];
    while !stop.load(Ordering::Relaxed) {
        match socket.recv_from(&mut packet) {
            Ok((bytes, from)) => drop(socket.send_to(&packet[..bytes], from)?),
            Err(error) if none_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends packets until one is answered, so that no measured packet waits for address resolution.
fn greet(socket: &UdpSocket, delay: Duration) -> io::Result<()> {
    let end = now_ns() + ACQUAINTED_WITHIN_NS;
    socket.set_read_timeout(Some(LOOK + 2 * delay))?;
    while now_ns() < end {
        socket.send(&GREETING.to_le_bytes())?;
        match socket.recv(&mut [0; 8]) {
            Ok(_) => return Ok(()),
            Err(error) if none_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no packet came back within 10 s"))
}

/// Sends packets at equal distances, independent of answers, and measures the time of each.
fn ask(socket: &UdpSocket, delay: Duration) -> io::Result<Vec<Duration>> {
    let begin = now_ns();
    let mut sent = Vec::with_capacity(PACKETS);
    let mut times = Vec::with_capacity(PACKETS);
    // Counted from the last packet: a thread without a processor for a while still sends them all.
    let mut end = u64::MAX;
    while times.len() < PACKETS {
        let next = begin + EVERY_NS * sent.len() as u64;
        let left = next.saturating_sub(now_ns());
        let wait = if sent.len() == PACKETS {
            LOOK
        } else if left > 0 {
            Duration::from_nanos(left)
        } else {
            let number = sent.len() as u64;
            sent.push(now_ns());
            socket.send(&number.to_le_bytes())?;
            if sent.len() == PACKETS {
                end = now_ns() + 2 * delay.as_nanos() as u64 + PATIENCE_NS;
            }
            continue;
        };
        socket.set_read_timeout(Some(wait))?;
        let mut packet = [0; 8];
        match socket.recv(&mut packet) {
            Ok(8) => {
                let came = now_ns();
                let number = usize::try_from(u64::from_le_bytes(packet)).unwrap_or(usize::MAX);
                if let Some(at) = sent.get(number) {
                    times.push(Duration::from_nanos(came.saturating_sub(*at)));
                }
            }
            Ok(_) => {}
            // Checked only here, so that all answers that have arrived are read.
            Err(error) if none_yet(&error) && now_ns() < end => {}
            Err(error) if none_yet(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use barograph_testkit::one_of;

    use super::*;

    /// Number of packets answered by a host whose address must be resolved first.
    fn answered() -> usize {
        let local = || UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let (asker, echo) = (local(), local());
        asker.connect(echo.local_addr().unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let echoing = std::thread::spawn(move || {
            for _lost_while_the_host_is_looked_for in 0..5 {
                echo.recv(&mut [0; 8])?;
            }
            echo.set_read_timeout(Some(LOOK))?;
            return_packets(&echo, &told)
        });
        greet(&asker, Duration::ZERO).unwrap();
        let times = ask(&asker, Duration::ZERO).unwrap();
        stop.store(true, Ordering::Relaxed);
        echoing.join().unwrap().unwrap();
        times.len()
    }

    #[test]
    fn packets_are_measured_once_hosts_know_each_other() {
        // An echo without a processor for longer than the patience is too late, but not in every try.
        one_of(5, || match answered() {
            // All measured packets are answered, and greetings are not among them.
            PACKETS => Ok(()),
            count => Err(format!("{count} answers to {PACKETS} packets")),
        });
    }

    #[test]
    fn a_spread_is_made_of_ranks() {
        let times: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        let ms = Duration::from_millis;
        assert_eq!(spread(&times).unwrap(), DelaySpread { p50: ms(100), p99: ms(198), max: ms(200) });
        assert!(spread(&[]).is_err());
    }
}
