//! The auctioneer of a node: decides in all auctions that the node owns. Input are bids and wakes from a
//! queue and the next deadline. Decisions go to the publisher, in order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use barograph_auction_api::{AuctionId, BidState, Cents, ItemId, Millis, UserId};
use barograph_auction_rules::{BidResult, Bidding, Event, EventKind, LiveAuction, Offer, Purses};
use barograph_auction_store::{Change, HighBidRow, StartState, codes};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::ids::Ids;
use crate::metrics::Metrics;

/// Capacity of the queue of bids and wakes; a decision takes about a microsecond.
pub(crate) const QUEUE: usize = 8192;

/// Capacity of the queue to the publisher. When it is full the auctioneer waits, and then so do bids.
pub(crate) const CHANGES: usize = 4096;

/// A command to the auctioneer.
pub(crate) enum Command {
    /// The auction has a follower.
    Wake(AuctionId),
    /// A bid.
    Bid {
        /// The auction.
        auction: AuctionId,
        /// Bidder, item and amount.
        offer: Offer,
        /// The bidder's credit as the store has it, in cents.
        credit: Cents,
    },
    /// The node owns an auction from now on, under this fence.
    Own(Box<StartState>, i64),
    /// The node no longer owns an auction, unless under a later fence than this.
    Lose(AuctionId, i64),
    /// The sale of an item failed for lack of credit: the item returns to the list.
    GiveBack(AuctionId, ItemId),
    /// A sale that was decided here was not stored: the buyer's credit is restored.
    Refund(UserId, Cents),
    /// Ends the auctioneer after everything sent before.
    Stop,
}

struct Entry {
    live: LiveAuction,
    fence: i64,
    /// Row of the current listing in the relational store.
    listing: i64,
    /// Number of the current listing within the auction.
    round: i64,
    /// Row of the leading bid in the events; 0 before the first bid.
    bid: i64,
    /// Time of the leading bid, or of the begin of the sale.
    bid_ms: Millis,
    /// Whether the auction is in the heap.
    scheduled: bool,
}

/// State of the auctioneer; not shared.
pub(crate) struct Auctioneer {
    ids: Arc<Ids>,
    clock: Clock,
    metrics: Arc<Metrics>,
    changes: mpsc::Sender<Change>,
    entries: HashMap<AuctionId, Entry>,
    /// Every awake auction once, by its deadline or by an earlier one that a bid has moved.
    due: BinaryHeap<Reverse<(Millis, AuctionId)>>,
    /// Credit of every bidder so far. The store is never ahead of it.
    purses: Purses,
}

/// The bidding of a listing that is not over.
fn ongoing(row: &HighBidRow) -> Option<Bidding> {
    let state = match row.state {
        codes::high_bid::OPEN => BidState::Open,
        codes::high_bid::LAST_CALL => BidState::LastCall,
        _ => return None,
    };
    Some(Bidding { state, ..bidding(row) })
}

/// The bidding of a listing, over or not.
pub(crate) fn bidding(row: &HighBidRow) -> Bidding {
    Bidding {
        item: ItemId(row.item_id),
        bidder: UserId(row.bidder_id),
        amount: row.amount_cents,
        sequence: u32::try_from(row.sequence).unwrap_or(u32::MAX),
        state: match row.state {
            codes::high_bid::OPEN => BidState::Open,
            codes::high_bid::LAST_CALL => BidState::LastCall,
            codes::high_bid::SOLD => BidState::Sold,
            _ => BidState::NotSold,
        },
    }
}

impl Auctioneer {
    /// An auctioneer that owns no auctions.
    pub(crate) fn new(
        ids: Arc<Ids>,
        clock: Clock,
        metrics: Arc<Metrics>,
        changes: mpsc::Sender<Change>,
    ) -> Self {
        Auctioneer {
            ids,
            clock,
            metrics,
            changes,
            entries: HashMap::new(),
            due: BinaryHeap::new(),
            purses: Purses::new(0),
        }
    }

    /// Runs until [`Command::Stop`].
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
                    let result = self.bid(auction, offer, credit).await;
                    self.metrics.decided(result);
                }
                Some(Command::Own(start, fence)) => self.own(*start, fence).await,
                Some(Command::Lose(id, fence)) => {
                    if self.entries.get(&id).is_some_and(|e| e.fence <= fence) {
                        self.entries.remove(&id);
                    }
                }
                Some(Command::GiveBack(id, item)) => {
                    if let Some(entry) = self.entries.get_mut(&id) {
                        entry.live.give_back(item);
                    }
                }
                Some(Command::Refund(buyer, amount)) => self.purses.refund(buyer, amount),
                Some(Command::Stop) | None => return,
            }
        }
    }

    /// Takes over an auction in the state of the store. If no item is on sale, the next one comes on sale.
    async fn own(&mut self, start: StartState, fence: i64) {
        let id = start.auction.id;
        let entry = |live: LiveAuction, row: Option<&HighBidRow>| Entry {
            live,
            fence,
            listing: row.map_or(0, |r| r.id),
            round: row.map_or(0, |r| r.round),
            bid: row.map_or(0, |r| r.bid_id),
            bid_ms: row.map_or(0, |r| r.bid_ms),
            scheduled: false,
        };
        let latest = start.latest.as_ref();
        // A heap entry from an earlier ownership may find the new entry at rest; that does no harm.
        match latest.map(|row| (row, ongoing(row))) {
            Some((_, Some(bidding))) => {
                self.purses.learn(bidding.bidder, start.bidder_credit);
                self.entries.insert(id, entry(LiveAuction::resume(id, start.items, bidding), latest));
            }
            over => {
                let live = match over {
                    Some((row, _)) => LiveAuction::after(id, start.items, ItemId(row.item_id)),
                    None => LiveAuction::new(id, start.items),
                };
                let first = live.current().copied();
                self.entries.insert(id, entry(live, latest));
                if let Some(bidding) = first {
                    let event = Event { at_ms: self.clock.now(), kind: EventKind::ItemStarted, bidding };
                    self.send(id, vec![event]).await;
                }
            }
        }
    }

    fn wake(&mut self, id: AuctionId) {
        let now = self.clock.now();
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.live.wake(now);
        }
        self.schedule(id);
    }

    /// Puts an auction with a running timer into the heap, unless it is there.
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

    /// Sends changes to the publisher, in order.
    async fn send(&mut self, id: AuctionId, events: Vec<Event>) {
        for event in events {
            let Some(entry) = self.entries.get_mut(&id) else { return };
            match event.kind {
                EventKind::ItemStarted => {
                    entry.listing = self.ids.next();
                    entry.round += 1;
                    entry.bid = 0;
                    entry.bid_ms = event.at_ms;
                }
                EventKind::NewHighBid => {
                    entry.bid = self.ids.next();
                    entry.bid_ms = event.at_ms;
                }
                EventKind::LastCall | EventKind::Sold | EventKind::NotSold => {}
            }
            let change = Change {
                auction: id,
                event,
                listing: entry.listing,
                round: entry.round,
                bid: entry.bid,
                bid_ms: entry.bid_ms,
                fence: entry.fence,
            };
            // The publisher outlives the auctioneer unless it has failed; then nothing is published any more.
            let _ = self.changes.send(change).await;
        }
    }
}
