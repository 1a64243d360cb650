//! Counters of the application, in the form that Prometheus reads.

use std::sync::atomic::AtomicU64;

use barograph_auction_rules::{BidResult, EventKind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Result {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MetricKind {
    kind: &'static str,
}

/// The counters. All are looked up at the start, so that counting is one addition.
pub(crate) struct Metrics {
    bids: [Counter<u64, AtomicU64>; 5],
    changes: [Counter<u64, AtomicU64>; 5],
    fenced: Counter<u64, AtomicU64>,
    claimed: Counter<u64, AtomicU64>,
    misrouted: Counter<u64, AtomicU64>,
    refused: Counter<u64, AtomicU64>,
}

/// Names of the results of bids, by position.
const RESULTS: [&str; 5] = ["accepted", "notCurrent", "notHigher", "noCredit", "notOwned"];

/// Names of the kinds of changes, by position.
const KINDS: [&str; 5] = ["itemStarted", "newHighBid", "lastCall", "sold", "notSold"];

impl Metrics {
    /// Adds the counters to a registry.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let bids = Family::<Result, Counter>::default();
        let changes = Family::<MetricKind, Counter>::default();
        let metrics = Metrics {
            bids: RESULTS.map(|result| bids.get_or_create(&Result { result }).clone()),
            changes: KINDS.map(|kind| changes.get_or_create(&MetricKind { kind }).clone()),
            fenced: Counter::default(),
            claimed: Counter::default(),
            misrouted: Counter::default(),
            refused: Counter::default(),
        };
        registry.register("auction_bids_decided", "Bids by what became of them", bids);
        registry.register(
            "auction_changes_stored",
            "Changes of auctions stored and published, by kind",
            changes,
        );
        registry.register(
            "auction_changes_fenced",
            "Changes refused by the store because the auction has another owner",
            metrics.fenced.clone(),
        );
        registry.register("auction_claims", "Auctions this node has taken", metrics.claimed.clone());
        registry.register(
            "auction_bids_misrouted",
            "Bids that reached a node which does not own their auction",
            metrics.misrouted.clone(),
        );
        registry.register(
            "auction_bids_refused",
            "Bids from other nodes that found the auctioneer's queue full",
            metrics.refused.clone(),
        );
        metrics
    }

    /// Counts a decided bid; `None` if its auction is not owned here.
    pub(crate) fn decided(&self, result: Option<BidResult>) {
        let at = match result {
            Some(BidResult::Accepted) => 0,
            Some(BidResult::NotCurrent) => 1,
            Some(BidResult::NotHigher) => 2,
            Some(BidResult::NoCredit) => 3,
            None => 4,
        };
        self.bids[at].inc();
    }

    /// Counts a change that was stored and published.
    pub(crate) fn stored(&self, kind: EventKind) {
        let at = match kind {
            EventKind::ItemStarted => 0,
            EventKind::NewHighBid => 1,
            EventKind::LastCall => 2,
            EventKind::Sold => 3,
            EventKind::NotSold => 4,
        };
        self.changes[at].inc();
    }

    /// Counts a change that was refused because of its fence.
    pub(crate) fn fenced(&self) {
        self.fenced.inc();
    }

    /// Counts claimed auctions.
    pub(crate) fn claimed(&self, auctions: usize) {
        self.claimed.inc_by(auctions as u64);
    }

    /// Counts a bid from another node that found no room.
    pub(crate) fn refused(&self) {
        self.refused.inc();
    }

    /// Counts a bid that came to the wrong node.
    pub(crate) fn misrouted(&self) {
        self.misrouted.inc();
    }
}
