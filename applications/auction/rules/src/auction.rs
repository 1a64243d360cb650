//! One live auction.

use std::collections::VecDeque;

use barograph_auction_api::{AuctionId, BidState, BidUpdate, Cents, ItemId, Millis, UserId};

use super::{IDLE_MS, Purse, UNSOLD};

/// A listed item of an auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The item.
    pub item: ItemId,
    /// The starting bid, in cents.
    pub starting_bid: Cents,
}

/// State of the bidding for the item on sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bidding {
    /// The item.
    pub item: ItemId,
    /// The leading bidder; [`UNSOLD`] before the first bid.
    pub bidder: UserId,
    /// The highest amount in cents; the starting bid before the first bid.
    pub amount: Cents,
    /// Changes of this item's bidding so far, from 1.
    pub sequence: u32,
    /// Possible next events.
    pub state: BidState,
}

impl Bidding {
    /// Converts to the wire form.
    #[must_use]
    pub fn update(&self, auction: AuctionId) -> BidUpdate {
        BidUpdate {
            auction_id: auction,
            item_id: self.item,
            bidder_id: self.bidder,
            amount_cents: self.amount,
            sequence: self.sequence,
            state: self.state,
        }
    }

    /// The beginning of the bidding for a listed item.
    #[must_use]
    pub fn begin(listing: Listing) -> Self {
        Bidding {
            item: listing.item,
            bidder: UNSOLD,
            amount: listing.starting_bid,
            sequence: 1,
            state: BidState::Open,
        }
    }
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An item came on sale.
    ItemStarted,
    /// A bid was accepted.
    NewHighBid,
    /// There was no bid for a while.
    LastCall,
    /// The item was sold and paid.
    Sold,
    /// There was no bid, or the bidder cannot pay: the item went to the end of the list.
    NotSold,
}

/// A change of the bidding, to be stored and published in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time: for a timer the time at which it was due.
    pub at_ms: Millis,
    /// Its kind.
    pub kind: EventKind,
    /// The bidding after the change.
    pub bidding: Bidding,
}

/// A bid on its way to the auctioneer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The item.
    pub item: ItemId,
    /// The bidder.
    pub bidder: UserId,
    /// The amount, in cents.
    pub amount: Cents,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BidResult {
    /// It is the highest now.
    Accepted,
    /// Another item is on sale.
    NotCurrent,
    /// The amount is not above the highest.
    NotHigher,
    /// The bidder cannot pay that much.
    NoCredit,
}

/// One auction with its list, the item on sale and its timers.
#[derive(Clone, Debug)]
pub struct LiveAuction {
    id: AuctionId,
    all: Vec<Listing>,
    waiting: VecDeque<Listing>,
    current: Option<Bidding>,
    /// Deadline of the running timer; `None` before the first follower.
    deadline: Option<Millis>,
}

impl LiveAuction {
    /// An auction with items in the order of their ids, the first of them on sale.
    #[must_use]
    pub fn new(id: AuctionId, mut items: Vec<Listing>) -> Self {
        items.sort_by_key(|l| l.item);
        let mut waiting: VecDeque<Listing> = items.iter().copied().collect();
        let current = waiting.pop_front().map(Bidding::begin);
        LiveAuction { id, all: items, waiting, current, deadline: None }
    }

    /// An auction that continues the bidding for one item; the items after it are listed.
    #[must_use]
    pub fn resume(id: AuctionId, items: Vec<Listing>, bidding: Bidding) -> Self {
        let mut auction = LiveAuction::new(id, items);
        auction.waiting = auction.all.iter().copied().filter(|l| l.item > bidding.item).collect();
        auction.current = Some(bidding);
        auction
    }

    /// An auction after the end of the bidding for one item: the next one in the list comes on sale.
    #[must_use]
    pub fn after(id: AuctionId, items: Vec<Listing>, over: ItemId) -> Self {
        let mut auction = LiveAuction::new(id, items);
        let next = auction.all.iter().position(|l| l.item > over).unwrap_or(0);
        auction.waiting = auction.all.iter().skip(next).copied().collect();
        auction.current = auction.waiting.pop_front().map(Bidding::begin);
        auction
    }

    /// Returns an item whose sale failed for lack of credit to the end of the list.
    pub fn give_back(&mut self, item: ItemId) {
        if !self.waiting.iter().any(|l| l.item == item) {
            self.waiting.extend(self.all.iter().find(|l| l.item == item).copied());
        }
    }

    /// The id of this auction.
    #[must_use]
    pub fn id(&self) -> AuctionId {
        self.id
    }

    /// The bidding for the item on sale; `None` only in an auction without items.
    #[must_use]
    pub fn current(&self) -> Option<&Bidding> {
        self.current.as_ref()
    }

    /// Time of the next step of [`LiveAuction::advance`]; `None` without followers.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        self.deadline
    }

    /// Registers a follower: the first one starts the timers.
    pub fn wake(&mut self, now: Millis) {
        if self.deadline.is_none() && self.current.is_some() {
            self.deadline = Some(now + IDLE_MS);
        }
    }

    /// Performs all timer events up to `now`, each at the time at which it was due.
    pub fn advance(&mut self, now: Millis, purse: &mut impl Purse, events: &mut Vec<Event>) {
        while let Some(due) = self.deadline.filter(|d| *d <= now) {
            let Some(mut bidding) = self.current else { return };
            bidding.sequence += 1;
            let kind = match bidding.state {
                BidState::Open => {
                    bidding.state = BidState::LastCall;
                    EventKind::LastCall
                }
                _ => self.close(&mut bidding, purse),
            };
            events.push(Event { at_ms: due, kind, bidding });
            self.current = Some(bidding);
            self.deadline = Some(due + IDLE_MS);
            if kind != EventKind::LastCall {
                self.start_next(due, events);
            }
        }
    }

    /// Decides an offer, after all earlier timer events.
    pub fn bid(
        &mut self,
        now: Millis,
        offer: Offer,
        purse: &mut impl Purse,
        events: &mut Vec<Event>,
    ) -> BidResult {
        self.advance(now, purse, events);
        let Some(bidding) = self.current.as_mut().filter(|b| b.item == offer.item) else {
            return BidResult::NotCurrent;
        };
        if offer.amount <= bidding.amount {
            return BidResult::NotHigher;
        }
        if purse.credit(offer.bidder) < offer.amount {
            return BidResult::NoCredit;
        }
        bidding.bidder = offer.bidder;
        bidding.amount = offer.amount;
        bidding.sequence += 1;
        bidding.state = BidState::Open;
        events.push(Event { at_ms: now, kind: EventKind::NewHighBid, bidding: *bidding });
        self.deadline = Some(now + IDLE_MS);
        BidResult::Accepted
    }

    fn close(&mut self, bidding: &mut Bidding, purse: &mut impl Purse) -> EventKind {
        if bidding.bidder != UNSOLD && purse.credit(bidding.bidder) >= bidding.amount {
            purse.pay(bidding.bidder, bidding.amount);
            bidding.state = BidState::Sold;
            return EventKind::Sold;
        }
        bidding.state = BidState::NotSold;
        let back = self.all.iter().find(|l| l.item == bidding.item).copied();
        self.waiting.extend(back);
        EventKind::NotSold
    }

    fn start_next(&mut self, now: Millis, events: &mut Vec<Event>) {
        if self.waiting.is_empty() {
            self.waiting.extend(self.all.iter().copied());
        }
        self.current = self.waiting.pop_front().map(Bidding::begin);
        match self.current {
            Some(bidding) => events.push(Event { at_ms: now, kind: EventKind::ItemStarted, bidding }),
            None => self.deadline = None,
        }
    }
}
