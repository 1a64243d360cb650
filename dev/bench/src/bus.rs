//! Throughput of a bus, and the time of a message from `send` to the receiver.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use barograph_auction_bus::{
    Bus, BusConnection, BusEvent, BusUrl, NodeName, Recipient, SendError, Settings, connect,
};
use bytes::{BufMut, Bytes, BytesMut};
use hdrhistogram::Histogram;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::say::say;

/// Typical length of a bid with its auction, item and amount.
const BODY_BYTES: usize = 200;
/// Duration of each measurement.
const SECONDS: u64 = 5;
/// Longest recorded time: a minute.
const LONGEST_US: u64 = 60_000_000;
/// Messages per second for the measurement of times: a quiet bus, and the application's highest rate.
const RATES: [u64; 2] = [1_000, 20_000];
/// Name of the receiving node.
const NODE: &str = "listener";

/// Measures the buses at these addresses.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    ensure!(!words.is_empty(), "wanted are addresses: in-process, amqp://..., nats://...");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(all(words))?;
    Ok(true)
}

async fn all(urls: &[&str]) -> anyhow::Result<()> {
    for url in urls {
        let url: BusUrl = url.parse()?;
        let mut described = None;
        for rate in RATES.into_iter().map(Some).chain([None]) {
            let settings = Settings::default();
            let namespace = "throughput";
            let (_listener, heard) = connect(&url, NodeName { namespace, node: NODE }, &settings).await?;
            let sender = connect(&url, NodeName { namespace, node: "sender" }, &settings).await?;
            if described.is_none() {
                described = Some(sender.0.describe());
                say(&format!("{}, bodies of {BODY_BYTES} bytes, {SECONDS} s each", sender.0.describe()));
            }
            let line = measure(sender, heard, rate).await?;
            say(&format!("  {line}"));
        }
    }
    Ok(())
}

/// One sender, one receiver, each with a link of its own.
async fn measure(
    sender: BusConnection,
    heard: mpsc::Receiver<BusEvent>,
    rate: Option<u64>,
) -> anyhow::Result<String> {
    let epoch = tokio::time::Instant::now();
    let listening = tokio::spawn(listen(heard, epoch));
    let (bus, mut own) = sender;
    // The sender receives only `BusConnection`, but a queue without a reader closes the bus.
    tokio::spawn(async move { while own.recv().await.is_some() {} });
    let (sent, full) = match rate {
        Some(rate) => paced(&bus, rate, epoch).await?,
        None => flat_out(&bus, epoch).await?,
    };
    while let Err(full) = bus.send(Recipient::Node(NODE), Bytes::new()) {
        if full != SendError::Full {
            return Err(full.into());
        }
        tokio::task::yield_now().await;
    }
    bus.close().await;
    let (times, took) = listening.await??;
    let per_second = times.len() as f64 / took.as_secs_f64();
    let asked = rate.map_or("as many as pass".to_owned(), |rate| format!("{rate}/s"));
    let [p50, p99, max] = [times.value_at_quantile(0.5), times.value_at_quantile(0.99), times.max()];
    Ok(format!(
        "{asked}: {sent} sent, {} heard, {per_second:.0}/s, {full} times full; p50 {p50} us, p99 {p99} us, max {max} us",
        times.len()
    ))
}

async fn listen(
    mut heard: mpsc::Receiver<BusEvent>,
    epoch: tokio::time::Instant,
) -> anyhow::Result<(Histogram<u64>, Duration)> {
    let mut times = Histogram::new_with_bounds(1, LONGEST_US, 3)?;
    let mut last = Duration::ZERO;
    while let Some(what) = heard.recv().await {
        match what {
            BusEvent::Message(message) => {
                let Some(bytes) = message.body.get(..8) else { return Ok((times, last)) };
                let sent = u64::from_be_bytes(bytes.try_into()?);
                last = epoch.elapsed();
                times.saturating_record((last.as_nanos() as u64).saturating_sub(sent) / 1000);
            }
            BusEvent::Connected => {}
            BusEvent::Lost { .. } => bail!("the link was lost"),
        }
    }
    bail!("the bus ended before the last message")
}

fn body(epoch: tokio::time::Instant) -> Bytes {
    let mut body = BytesMut::with_capacity(BODY_BYTES);
    body.put_u64(epoch.elapsed().as_nanos() as u64);
    body.resize(BODY_BYTES, b'x');
    body.freeze()
}

/// Sends in bursts each millisecond, the resolution of the runtime's timer.
async fn paced(bus: &Arc<dyn Bus>, rate: u64, epoch: tokio::time::Instant) -> Result<(u64, u64), SendError> {
    let (mut sent, mut full) = (0, 0);
    let mut ticks = interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..SECONDS * 1000 {
        ticks.tick().await;
        for _ in 0..rate / 1000 {
            match bus.send(Recipient::Node(NODE), body(epoch)) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => full += 1,
                Err(other) => return Err(other),
            }
        }
    }
    Ok((sent, full))
}

/// Sends as fast as there is room.
async fn flat_out(bus: &Arc<dyn Bus>, epoch: tokio::time::Instant) -> Result<(u64, u64), SendError> {
    let (mut sent, mut full) = (0, 0);
    while epoch.elapsed() < Duration::from_secs(SECONDS) {
        match bus.send(Recipient::Node(NODE), body(epoch)) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => {
                full += 1;
                tokio::task::yield_now().await;
            }
            Err(other) => return Err(other),
        }
    }
    Ok((sent, full))
}
