//! Counters of the workload, and measures derived from them.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

/// Bytes of messages sent.
pub(crate) const SENT: CounterId = CounterId(0);

/// Bytes of messages received.
pub(crate) const RECEIVED: CounterId = CounterId(1);

/// Bytes of both.
pub(crate) const BYTES: CounterId = CounterId(2);

/// Processor time of the driver, in microseconds.
pub(crate) const DRIVER_CPU: CounterId = CounterId(3);

/// Processor time of the target, in microseconds.
pub(crate) const TARGET_CPU: CounterId = CounterId(4);

/// Processor time of both.
pub(crate) const CPU: CounterId = CounterId(5);

/// Packets delivered to the receiving ends, after merging.
pub(crate) const PACKETS: CounterId = CounterId(6);

/// Segments sent again.
pub(crate) const RETRANSMITS: CounterId = CounterId(7);

/// Samples of connections.
pub(crate) const SAMPLES: CounterId = CounterId(8);

/// Sum of their smoothed round-trip times, in microseconds.
pub(crate) const RTT: CounterId = CounterId(9);

/// Sum of their congestion windows, in segments.
pub(crate) const WINDOW: CounterId = CounterId(10);

/// Sum of their delivery rates, in megabits per second.
pub(crate) const DELIVERY: CounterId = CounterId(11);

/// With datagrams: those that arrived or are lost. These counters and the five of connections are never in one load.
pub(crate) const DATAGRAMS: CounterId = CounterId(7);

/// Those of them that arrived.
pub(crate) const ARRIVED: CounterId = CounterId(8);

/// Those of them that are lost.
pub(crate) const LOST: CounterId = CounterId(9);

/// Those that arrived after a later one.
pub(crate) const REORDERED: CounterId = CounterId(10);

/// Sum of the jitter at each arrival, in nanoseconds.
pub(crate) const JITTER: CounterId = CounterId(11);

/// Names of the counters of connections.
pub(crate) const COUNTERS: [&str; 12] = [
    "bytes_sent",
    "bytes_received",
    "bytes",
    "driver_cpu_us",
    "target_cpu_us",
    "cpu_us",
    "packets",
    "retransmits",
    "connection_samples",
    "round_trip_us",
    "window_segments",
    "delivery_mbit_per_s",
];

/// Names of the counters of datagrams.
pub(crate) const DATAGRAM_COUNTERS: [&str; 12] = [
    "bytes_sent",
    "bytes_received",
    "bytes",
    "driver_cpu_us",
    "target_cpu_us",
    "cpu_us",
    "packets",
    "datagrams",
    "datagrams_arrived",
    "datagrams_lost",
    "datagrams_reordered",
    "jitter_ns",
];

/// Id of the rate of bytes in both directions.
pub(crate) const RATE: &str = "gbit_per_s";

/// All measures: those of connections, of both, and of datagrams.
pub(crate) const MEASURES: [MeasureSpec; 15] = [
    per(
        "retransmits_per_gb",
        "segments sent again by bytes",
        ("segments/GB", LOWER),
        (RETRANSMITS, BYTES, 1e9),
    ),
    per("round_trip_us", "mean smoothed round-trip time", ("us", LOWER), (RTT, SAMPLES, 1.0)),
    per("window_segments", "mean congestion window", ("segments", NEITHER), (WINDOW, SAMPLES, 1.0)),
    per(
        "delivery_gbit_per_s",
        "mean delivery rate of a connection",
        ("Gb/s", HIGHER),
        (DELIVERY, SAMPLES, 1e-3),
    ),
    rate("sent_gbit_per_s", "sent", SENT),
    rate("received_gbit_per_s", "received", RECEIVED),
    rate(RATE, "sent and received", BYTES),
    // Microseconds by bytes are seconds by megabytes.
    per(
        "driver_cpu_ms_per_gb",
        "processor time of the driver by bytes",
        ("ms/GB", LOWER),
        (DRIVER_CPU, BYTES, 1e6),
    ),
    per(
        "target_cpu_ms_per_gb",
        "processor time of the target by bytes",
        ("ms/GB", LOWER),
        (TARGET_CPU, BYTES, 1e6),
    ),
    per("gbit_per_s_per_core", "rate by cores of both ends", ("Gb/s", HIGHER), (BYTES, CPU, 8e-3)),
    MeasureSpec {
        id: "packets_per_s",
        title: "packets after merging",
        unit: "packets/s",
        better: BetterWhen::Neither,
        formula: Formula::per_second(Amount::Counter(PACKETS)),
    },
    per(
        "mean_packet_bytes",
        "bytes of messages by packets after merging",
        ("bytes", NEITHER),
        (BYTES, PACKETS, 1.0),
    ),
    per("lost_percent", "datagrams lost", ("%", LOWER), (LOST, DATAGRAMS, 1e2)),
    per(
        "reordered_percent",
        "datagrams that arrived after a later one",
        ("%", LOWER),
        (REORDERED, ARRIVED, 1e2),
    ),
    per("jitter_us", "mean jitter of datagrams by RFC 3550", ("us", LOWER), (JITTER, ARRIVED, 1e-3)),
];

/// The measures of a load of connections, or of datagrams.
pub(crate) fn measures(datagrams: bool) -> &'static [MeasureSpec] {
    const ALL: &[MeasureSpec] = &MEASURES;
    let of_connections = 4;
    let of_datagrams = 3;
    if datagrams { &ALL[of_connections..] } else { &ALL[..ALL.len() - of_datagrams] }
}

const HIGHER: BetterWhen = BetterWhen::Higher;
const LOWER: BetterWhen = BetterWhen::Lower;
const NEITHER: BetterWhen = BetterWhen::Neither;

/// Bytes of a counter as gigabits per second.
const fn rate(id: &'static str, title: &'static str, bytes: CounterId) -> MeasureSpec {
    let formula = Formula::per_second(Amount::Counter(bytes)).times(8e-9);
    MeasureSpec { id, title, unit: "Gb/s", better: BetterWhen::Higher, formula }
}

/// A counter divided by another, times a factor.
const fn per(
    id: &'static str,
    title: &'static str,
    (unit, better): (&'static str, BetterWhen),
    (amount, by, factor): (CounterId, CounterId, f64),
) -> MeasureSpec {
    let per = MeasureDivisor::Amount(Amount::Counter(by));
    let formula = Formula { amount: Amount::Counter(amount), per, factor };
    MeasureSpec { id, title, unit, better, formula }
}
