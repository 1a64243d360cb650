//! The auctioneer: the one owner of all live auctions. Bids and wakes come in by a queue, time by the next deadline.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use barograph_auction_api::{AuctionId, BidState, Cents, Millis, UserId};
use tokio::sync::mpsc;

use crate::bus::Bus;
use crate::clock::Clock;
use crate::codes;
use crate::live::{BidResult, Bidding, Event, EventKind, LiveAuction, Offer, Purses};
use crate::store::{Change, StartState, Store};

/// Bids and wakes that may wait for the auctioneer; deciding one takes about a microsecond.
pub(crate) const QUEUE: usize = 8192;

/// Changes that may wait to be stored and published; when it is full the auctioneer waits, and then bids do.
pub(crate) const CHANGES: usize = 4096;

/// What the auctioneer is asked to do.
pub(crate) enum Command {
    /// Somebody watches this auction.
    Wake(AuctionId),
    /// Somebody bids.
    Bid {
        /// In which auction.
        auction: AuctionId,
        /// The bid.
        offer: Offer,
        /// The bidder's credit as the store has it, in cents.
        credit: Cents,
    },
    /// An auction has begun.
    Track(Box<StartState>),
    /// Whatever was sent before this is decided; then the auctioneer ends.
    Stop,
}

struct Entry {
    live: LiveAuction,
    /// Row of the current listing in `high_bid`.
    listing: i64,
    /// When the leading bid was accepted.
    bid_ms: Millis,
    /// Whether the auction is in the heap.
    scheduled: bool,
}

/// The auctioneer's own things; nobody else touches them.
pub(crate) struct Auctioneer {
    store: Arc<Store>,
    bus: Arc<Bus>,
    clock: Clock,
    changes: mpsc::Sender<Change>,
    entries: HashMap<AuctionId, Entry>,
    /// Every auction that is awake, once: by its deadline, or by an earlier one that a bid has moved.
    due: BinaryHeap<Reverse<(Millis, AuctionId)>>,
    /// Whoever has ever bid here. The store follows behind, so what is known here is right.
    purses: Purses,
}

impl Auctioneer {
    /// Owns nothing yet.
    pub(crate) fn new(store: Arc<Store>, bus: Arc<Bus>, clock: Clock, changes: mpsc::Sender<Change>) -> Self {
        Auctioneer {
            store,
            bus,
            clock,
            changes,
            entries: HashMap::new(),
            due: BinaryHeap::new(),
            purses: Purses::new(0),
        }
    }

    /// Works until it is told to stop.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let next = self.due.peek().map(|Reverse((at, _))| self.clock.instant(*at));
            let command = match next {
                Some(next) => tokio::select! {
                    command = commands.recv() => command,
                    () = tokio::time::sleep_until(next) => {
                        self.advance().await;
                        continue;
                    }
                },
                None => commands.recv().await,
            };
            match command {
                Some(Command::Wake(id)) => self.wake(id),
                Some(Command::Bid { auction, offer, credit }) => {
                    self.bid(auction, offer, credit).await;
                }
                Some(Command::Track(start)) => self.track(*start).await,
                Some(Command::Stop) | None => return,
            }
        }
    }

    /// Takes over an auction as the store has it. A running one that is new opens with its first item.
    pub(crate) async fn track(&mut self, start: StartState) {
        let id = start.auction.id;
        let (live, listing, bid_ms) = match start.ongoing {
            Some((item, high)) => {
                let bidder = UserId(high.bidder);
                let state = if high.state == codes::high_bid::LAST_CALL {
                    BidState::LastCall
                } else {
                    BidState::Open
                };
                let bidding = Bidding { item, bidder, amount: high.amount, sequence: high.sequence, state };
                self.purses.learn(bidder, start.bidder_credit);
                self.bus.open(start.auction, Some(bidding));
                (LiveAuction::resume(id, start.items, bidding), high.row, high.bid_ms)
            }
            None => {
                self.bus.open(start.auction, None);
                (LiveAuction::new(id, start.items), 0, 0)
            }
        };
        let fresh = start.ongoing.is_none();
        let first = live.current().copied();
        self.entries.insert(id, Entry { live, listing, bid_ms, scheduled: false });
        if let (true, Some(bidding)) = (fresh, first) {
            let event = Event { at_ms: self.clock.now(), kind: EventKind::ItemStarted, bidding };
            self.send(id, vec![event]).await;
        }
    }

    fn wake(&mut self, id: AuctionId) {
        let now = self.clock.now();
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.live.wake(now);
        }
        self.schedule(id);
    }

    /// Sees to it that an auction with a running timer is in the heap.
    fn schedule(&mut self, id: AuctionId) {
        let Some(entry) = self.entries.get_mut(&id).filter(|e| !e.scheduled) else { return };
        if let Some(at) = entry.live.next_deadline() {
            entry.scheduled = true;
            self.due.push(Reverse((at, id)));
        }
    }

    async fn bid(&mut self, id: AuctionId, offer: Offer, credit: Cents) -> Option<BidResult> {
        self.purses.learn(offer.bidder, credit);
        let entry = self.entries.get_mut(&id)?;
        let mut events = Vec::new();
        let result = entry.live.bid(self.clock.now(), offer, &mut self.purses, &mut events);
        self.schedule(id);
        self.send(id, events).await;
        Some(result)
    }

    async fn advance(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((at, id))) = self.due.peek().copied() {
            if at > now {
                return;
            }
            self.due.pop();
            let mut events = Vec::new();
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.scheduled = false;
                entry.live.advance(now, &mut self.purses, &mut events);
            }
            self.schedule(id);
            self.send(id, events).await;
        }
    }

    /// Hands changes over to be stored and published, in order.
    async fn send(&mut self, id: AuctionId, events: Vec<Event>) {
        for event in events {
            let Some(entry) = self.entries.get_mut(&id) else { return };
            let mut bid = 0;
            match event.kind {
                EventKind::ItemStarted => {
                    entry.listing = self.store.new_id();
                    entry.bid_ms = event.at_ms;
                }
                EventKind::NewHighBid => {
                    bid = self.store.new_id();
                    entry.bid_ms = event.at_ms;
                }
                EventKind::LastCall | EventKind::Sold | EventKind::NotSold => {}
            }
            let change = Change { auction: id, event, bid, bid_ms: entry.bid_ms, listing: entry.listing };
            if self.changes.send(change).await.is_err() {
                return;
            }
        }
    }
}
