//! The figures of a node in the text format of OpenMetrics, which Prometheus reads. Counters grow while the
//! node works; present values are read on each request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::traffic::{BUCKETS, CLASSES, Route, Traffic, VERBS};
use crate::app::App;
use crate::cache::Use;

/// Content type of the text.
pub(super) const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = [(&'static str, &'static str); 1];

/// All present figures.
pub(super) fn text(app: &App, traffic: &Arc<Traffic>) -> String {
    let mut present = Registry::default();
    node(app, traffic, &mut present);
    caches(app, &mut present);
    pictures(app, &mut present);
    bus(app, &mut present);
    present.register_collector(Box::new(Requests(Arc::clone(traffic))));
    let mut text = String::new();
    let written = encode_registry(&mut text, &app.prometheus.lock())
        .and_then(|()| encode_registry(&mut text, &present))
        .and_then(|()| encode_eof(&mut text));
    debug_assert!(written.is_ok(), "a string takes everything");
    text
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}

fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter = Counter::<u64, AtomicU64>::default();
    counter.inc_by(value);
    registry.register(name, help, counter);
}

fn node(app: &App, traffic: &Traffic, to: &mut Registry) {
    let (open, opened) = traffic.connections();
    gauge(to, "auction_connections", "Connections open now", open);
    counter(to, "auction_connections_opened", "Connections that have been opened", opened);
    let published = app.channels.counts();
    gauge(to, "auction_followers", "Polls and streams that wait for news of an auction", published.followers);
    counter(to, "auction_updates", "Changes of owned auctions published here", published.updates);
    counter(
        to,
        "auction_resyncs",
        "States of other nodes' auctions that were caught up after something was missed",
        published.resyncs,
    );
    counter(
        to,
        "auction_gaps",
        "Published changes that did not follow on the one before: none",
        published.gaps,
    );
    gauge(to, "auction_running", "Auctions being held, by all nodes", app.channels.len() as u64);
    gauge(to, "auction_owned", "Auctions that this node owns", app.known.owns() as u64);
    let room = app.desk.max_capacity() - app.desk.capacity();
    gauge(to, "auction_queue", "Bids and commands that wait for the auctioneer", room as u64);
    gauge(to, "auction_ready", "Whether the node is ready: 1 or 0", u64::from(app.trouble().is_none()));
}

fn caches(app: &App, to: &mut Registry) {
    let pictures = app.images.counts();
    let pictures = Use { entries: pictures.cached, hits: pictures.hits, misses: pictures.misses };
    let all = [
        ("sessions", app.sessions.used()),
        ("auctions", app.auctions.used()),
        ("items", app.items.used()),
        ("itemPages", app.item_pages.used()),
        ("livePages", app.live_pages.used()),
        ("pictures", pictures),
    ];
    let entries = Family::<Labels, Gauge<i64>>::default();
    let hits = Family::<Labels, Counter<u64, AtomicU64>>::default();
    let misses = Family::<Labels, Counter<u64, AtomicU64>>::default();
    for (cache, used) in all {
        let labels = [("cache", cache)];
        entries.get_or_create(&labels).set(i64::try_from(used.entries).unwrap_or(i64::MAX));
        hits.get_or_create(&labels).inc_by(used.hits);
        misses.get_or_create(&labels).inc_by(used.misses);
    }
    to.register("auction_cache_entries", "Entries of a cache now", entries);
    to.register("auction_cache_hits", "Questions that a cache answered", hits);
    to.register("auction_cache_misses", "Questions that a cache passed on", misses);
}

fn pictures(app: &App, to: &mut Registry) {
    let counts = app.images.counts();
    gauge(to, "auction_pictures_cached_bytes", "Bytes of pictures in memory", counts.cached_bytes);
    gauge(to, "auction_pictures_queued", "Pictures that wait to be written", counts.queued as u64);
    gauge(to, "auction_pictures_queued_bytes", "Their bytes", counts.queued_bytes as u64);
    counter(to, "auction_pictures_written", "Pictures that were written", counts.written);
    counter(to, "auction_pictures_failed", "Pictures that could not be written", counts.failed);
    counter(to, "auction_pictures_refused", "Pictures refused because the queue was full", counts.refused);
}

fn bus(app: &App, to: &mut Registry) {
    let Some(bus) = &app.bus else { return };
    let counts = bus.counts();
    gauge(to, "auction_bus_connected", "Whether the bus is connected: 1 or 0", u64::from(bus.is_connected()));
    counter(to, "auction_bus_sent", "Messages sent to other nodes", counts.sent);
    counter(to, "auction_bus_heard", "Messages heard from the bus", counts.heard);
    counter(to, "auction_bus_dropped", "Messages that found a full queue", counts.dropped);
    counter(to, "auction_bus_reconnects", "Times the bus was connected again", counts.reconnects);
}

/// The requests, written on each scrape.
struct Requests(Arc<Traffic>);

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Requests")
    }
}

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let help = "Requests answered, by route, verb and class of the status";
        let mut family = encoder.encode_descriptor("auction_requests", help, None, MetricType::Counter)?;
        for route in self.0.routes() {
            for (verb, answered) in VERBS.iter().zip(&route.answered) {
                for (class, count) in CLASSES.iter().zip(answered) {
                    let count = count.load(Ordering::Relaxed);
                    if count > 0 {
                        let labels = [("route", route.path.as_str()), ("verb", *verb), ("status", *class)];
                        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
                    }
                }
            }
        }
        let help = "Seconds from a request's head to its answer's head, by route";
        let mut family =
            encoder.encode_descriptor("auction_request_seconds", help, None, MetricType::Histogram)?;
        for route in self.0.routes() {
            times(&mut family, route)?;
        }
        Ok(())
    }
}

fn times(family: &mut prometheus_client::encoding::MetricEncoder<'_>, route: &Route) -> fmt::Result {
    let counts: Vec<u64> = route.times.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let count: u64 = counts.iter().sum();
    if count == 0 {
        return Ok(());
    }
    let ends = BUCKETS.iter().copied().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = ends.zip(counts).collect();
    let seconds = route.sum_us.load(Ordering::Relaxed) as f64 / 1e6;
    let labels = [("route", route.path.as_str())];
    family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
}
