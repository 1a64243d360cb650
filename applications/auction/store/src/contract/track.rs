//! Changes of one auction in a test: tracks listing, round and leading bid like an owner.

use barograph_auction_api::{AuctionId, BidState, ItemId, Millis, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind, Listing, UNSOLD};

use crate::{Change, HighBidRow, codes};

/// State of the listings of one auction.
#[derive(Clone, Debug)]
pub(super) struct Track {
    auction: i64,
    /// The fence of the changes.
    pub(super) fence: i64,
    listing: i64,
    round: i64,
    bid: i64,
    bid_ms: Millis,
    bidding: Bidding,
    /// Source of ids for listings and bids; starts far from those of other auctions.
    next_id: i64,
}

impl Track {
    /// An auction with the last listing `latest`, if there was one.
    pub(super) fn new(auction: i64, fence: i64, latest: Option<&HighBidRow>) -> Self {
        let bidding = latest.map_or_else(
            || Bidding::begin(Listing { item: ItemId(0), starting_bid: 0 }),
            |row| Bidding {
                item: ItemId(row.item_id),
                bidder: UserId(row.bidder_id),
                amount: row.amount_cents,
                sequence: u32::try_from(row.sequence).expect("the data set has small sequence numbers"),
                state: BidState::Open,
            },
        );
        Track {
            auction,
            fence,
            listing: latest.map_or(0, |row| row.id),
            round: latest.map_or(0, |row| row.round),
            bid: latest.map_or(0, |row| row.bid_id),
            bid_ms: latest.map_or(0, |row| row.bid_ms),
            bidding,
            next_id: auction * 1_000_000,
        }
    }

    /// Another owner continues from `latest`, with unused ids.
    pub(super) fn take_over(&mut self, fence: i64, latest: Option<&HighBidRow>) {
        *self = Track { next_id: self.next_id, ..Track::new(self.auction, fence, latest) };
    }

    /// The change for an event of the auction.
    pub(super) fn change(&mut self, event: Event) -> Change {
        match event.kind {
            EventKind::ItemStarted => {
                self.next_id += 1;
                self.listing = self.next_id;
                self.round += 1;
                self.bid = 0;
                self.bid_ms = event.at_ms;
            }
            EventKind::NewHighBid => {
                self.next_id += 1;
                self.bid = self.next_id;
                self.bid_ms = event.at_ms;
            }
            EventKind::LastCall | EventKind::Sold | EventKind::NotSold => {}
        }
        self.bidding = event.bidding;
        Change {
            auction: AuctionId(self.auction),
            event,
            listing: self.listing,
            round: self.round,
            bid: self.bid,
            bid_ms: self.bid_ms,
            fence: self.fence,
        }
    }

    fn next(&mut self, at_ms: Millis, kind: EventKind, state: BidState) -> Change {
        let sequence = self.bidding.sequence + 1;
        let bidding = Bidding { sequence, state, ..self.bidding };
        self.change(Event { at_ms, kind, bidding })
    }

    /// Puts an item of the data set on sale.
    pub(super) fn start(&mut self, at_ms: Millis, item: i64) -> Change {
        let bidding = Bidding::begin(Listing { item: ItemId(item), starting_bid: item * 100 });
        self.change(Event { at_ms, kind: EventKind::ItemStarted, bidding })
    }

    /// Accepts a bid.
    pub(super) fn bid(&mut self, at_ms: Millis, bidder: i64, amount: i64) -> Change {
        self.bidding.bidder = UserId(bidder);
        self.bidding.amount = amount;
        self.next(at_ms, EventKind::NewHighBid, BidState::Open)
    }

    /// Gives the last call.
    pub(super) fn last_call(&mut self, at_ms: Millis) -> Change {
        self.next(at_ms, EventKind::LastCall, BidState::LastCall)
    }

    /// Sells the item to the leading bidder, or returns it to the list without one.
    pub(super) fn close(&mut self, at_ms: Millis) -> Change {
        if self.bidding.bidder == UNSOLD {
            self.next(at_ms, EventKind::NotSold, BidState::NotSold)
        } else {
            self.next(at_ms, EventKind::Sold, BidState::Sold)
        }
    }
}

/// The state of a listing after a change of this kind.
pub(super) fn listing_state(kind: EventKind) -> i64 {
    match kind {
        EventKind::ItemStarted | EventKind::NewHighBid => codes::high_bid::OPEN,
        EventKind::LastCall => codes::high_bid::LAST_CALL,
        EventKind::Sold => codes::high_bid::SOLD,
        EventKind::NotSold => codes::high_bid::NOT_SOLD,
    }
}
