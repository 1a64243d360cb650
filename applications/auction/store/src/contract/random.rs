//! A random run of several live auctions, compared with the model step by step.

use std::borrow::Cow;
use std::collections::BTreeMap;

use barograph_auction_api::{AuctionId, BidState, Cents, ItemId, Millis, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind, LiveAuction, Offer, Purses};

use super::data::{CREDIT, FREE_ID, RUNNING};
use super::items::unlisted;
use super::model::Model;
use super::track::Track;
use super::{Digest, own};
use crate::{
    AttendanceRow, BidRow, BidSettlement, CLOCK_START_MS, Change, ChangeOutcome, Events, HighBidRow, Profile,
    Registry, Relational, SettledBid, StartState, UserRow, codes, fate,
};

/// Steps of a run: enough for some dozens of sales.
const STEPS: u32 = 600;

/// Most changes that wait before they are applied.
const WAITING: usize = 40;

/// Random numbers from a seed, the same on every machine. The constants are those of the published
/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 1) as i64 % sides
    }
}

/// One auction with its owner's state. Each has a purse of its own, so that buyers can run out of money
/// elsewhere.
struct OwnedAuction {
    live: LiveAuction,
    track: Track,
    purse: Purses,
}

struct Run<'a, S: ?Sized> {
    store: &'a S,
    events: &'a dyn Events,
    dice: Dice,
    now: Millis,
    auctions: BTreeMap<i64, OwnedAuction>,
    model: Model,
    waiting: Vec<Change>,
    claims: i64,
    next_id: i64,
    added: Vec<i64>,
}

/// Runs several auctions, users and items at random on stores that hold [`super::relational_data`] and
/// [`super::event_data`], and compares with a model in memory. The same seed leaves the same [`Digest`] in
/// all stores.
///
/// # Panics
/// If answers or contents of a store differ from the model.
pub async fn seeded_run<S: Relational + Registry + ?Sized>(
    store: &S,
    events: &dyn Events,
    seed: u64,
) -> Digest {
    let fences = own(store, "run-0", &RUNNING).await;
    let mut run = Run {
        store,
        events,
        dice: Dice(seed),
        now: CLOCK_START_MS,
        auctions: BTreeMap::new(),
        model: Model::new(&RUNNING, &fences),
        waiting: Vec::new(),
        claims: 0,
        next_id: FREE_ID,
        added: Vec::new(),
    };
    for (auction, fence) in RUNNING.into_iter().zip(fences) {
        run.track(auction, fence).await;
    }
    for _ in 0..STEPS {
        run.step().await;
    }
    run.flush().await;
    for auction in RUNNING {
        assert_eq!(
            events.unsettled(AuctionId(auction)).await.unwrap(),
            [],
            "all bids are settled in the end"
        );
    }
    Digest::take(store, events, &run.added).await
}

/// The bidding of a listing that is not over.
fn open(row: &HighBidRow) -> Option<Bidding> {
    let state = match row.state {
        codes::high_bid::OPEN => BidState::Open,
        codes::high_bid::LAST_CALL => BidState::LastCall,
        _ => return None,
    };
    Some(Bidding {
        item: ItemId(row.item_id),
        bidder: UserId(row.bidder_id),
        amount: row.amount_cents,
        sequence: u32::try_from(row.sequence).expect("a run has few changes"),
        state,
    })
}

impl<S: Relational + Registry + ?Sized> Run<'_, S> {
    async fn step(&mut self) {
        self.now += self.dice.below(4_000);
        match self.dice.below(40) {
            0..24 => self.bid(),
            24..31 => self.wait(),
            31..33 => self.user().await,
            33..35 => self.item().await,
            35..38 => self.attendance().await,
            38 => drop(self.store.begin_due(self.now).await.unwrap()),
            _ => self.take_over().await,
        }
        if self.waiting.len() > WAITING || self.dice.below(4) == 0 {
            self.flush().await;
        }
    }

    /// Takes an auction over in the state of the store.
    async fn track(&mut self, auction: i64, fence: i64) {
        let state = self.store.start_state(AuctionId(auction)).await.unwrap().expect("it runs");
        let StartState { auction: shown, items, latest, .. } = state;
        let mut track = match self.auctions.remove(&auction) {
            Some(before) => before.track,
            None => Track::new(auction, fence, None),
        };
        track.take_over(fence, latest.as_ref());
        let mut live = match &latest {
            None => LiveAuction::new(shown.id, items),
            Some(row) => match open(row) {
                Some(bidding) => LiveAuction::resume(shown.id, items, bidding),
                None => LiveAuction::after(shown.id, items, ItemId(row.item_id)),
            },
        };
        live.wake(self.now);
        if latest.as_ref().and_then(open).is_none()
            && let Some(bidding) = live.current().copied()
        {
            self.waiting.push(track.change(Event { at_ms: self.now, kind: EventKind::ItemStarted, bidding }));
        }
        self.auctions.insert(auction, OwnedAuction { live, track, purse: Purses::new(CREDIT) });
    }

    fn any_auction(&mut self) -> i64 {
        RUNNING[self.dice.below(RUNNING.len() as i64) as usize]
    }

    fn bid(&mut self) {
        let auction = self.any_auction();
        let (bidder, raise) = (UserId(2 + self.dice.below(10)), 1 + self.dice.below(20_000));
        let owned = self.auctions.get_mut(&auction).expect("all running auctions are owned");
        let Some(current) = owned.live.current().copied() else { return };
        let offer = Offer { item: current.item, bidder, amount: current.amount + raise };
        let mut events = Vec::new();
        owned.live.bid(self.now, offer, &mut owned.purse, &mut events);
        self.waiting.extend(events.into_iter().map(|e| owned.track.change(e)));
    }

    fn wait(&mut self) {
        self.now += self.dice.below(30_000);
        let auction = self.any_auction();
        let owned = self.auctions.get_mut(&auction).expect("all running auctions are owned");
        let mut events = Vec::new();
        owned.live.advance(self.now, &mut owned.purse, &mut events);
        self.waiting.extend(events.into_iter().map(|e| owned.track.change(e)));
    }

    /// Proposes, applies and settles, some of it twice.
    async fn flush(&mut self) {
        let changes = std::mem::take(&mut self.waiting);
        let proposed: Vec<BidRow> = changes.iter().filter_map(Change::proposes).collect();
        self.events.write(&proposed, &[]).await.unwrap();
        let expected = self.model.apply(&changes);
        for _ in 0..=self.dice.below(2) {
            assert_eq!(self.store.apply(&changes).await.unwrap(), expected, "answers to {changes:#?}");
        }
        assert_eq!(self.store.audit().await.unwrap(), self.model.audit(), "after {changes:#?}");
        let mut settled = Vec::new();
        for (change, applied) in changes.iter().zip(expected) {
            let bidding = change.event.bidding;
            let state = match (change.event.kind, applied) {
                (EventKind::NewHighBid, ChangeOutcome::Stored) => codes::bid::HIGH,
                (EventKind::Sold, ChangeOutcome::Stored) => codes::bid::WINNING,
                (EventKind::Sold, ChangeOutcome::Unpaid) => {
                    self.unpaid(change.auction.0, bidding.item, bidding.bidder);
                    continue;
                }
                _ => continue,
            };
            settled.push(SettledBid {
                bidder: bidding.bidder,
                bid_ms: change.bid_ms,
                bid: change.bid,
                state,
            });
        }
        self.events.write(&[], &settled).await.unwrap();
    }

    fn unpaid(&mut self, auction: i64, item: ItemId, buyer: UserId) {
        let left: Cents = self.model.users[&buyer.0].credit_cents;
        let owned = self.auctions.get_mut(&auction).expect("all running auctions are owned");
        owned.live.give_back(item);
        owned.purse.learn(buyer, left);
    }

    /// Another node claims an auction while changes of the previous owner are on their way, and settles that
    /// owner's bids.
    async fn take_over(&mut self) {
        let auction = self.any_auction();
        self.claims += 1;
        let node = format!("run-{}", self.claims);
        let fence = own(self.store, &node, &[auction]).await[0];
        self.model.fences.insert(auction, fence);
        self.flush().await;
        let mut settled = Vec::new();
        for bid in self.events.unsettled(AuctionId(auction)).await.unwrap() {
            let row = self.store.listing(bid.listing).await.unwrap();
            let state = match fate(&bid, row.as_ref()) {
                BidSettlement::Accepted => codes::bid::HIGH,
                BidSettlement::Void => codes::bid::VOID,
            };
            settled.push(SettledBid {
                bidder: UserId(bid.bidder_id),
                bid_ms: bid.bid_ms,
                bid: bid.id,
                state,
            });
        }
        self.events.write(&[], &settled).await.unwrap();
        self.track(auction, fence).await;
    }

    fn new_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    async fn user(&mut self) {
        let id = self.new_id();
        let user = UserRow {
            id,
            name: format!("new{id}@example.org"),
            password: String::new(),
            first_name: Cow::Borrowed("New"),
            last_name: Cow::Borrowed("User"),
            credit_cents: id,
            enabled: true,
        };
        self.store.add_user(user).await.unwrap();
        self.added.push(id);
        let other = UserId(self.added[self.dice.below(self.added.len() as i64) as usize]);
        if self.dice.below(3) == 0 {
            self.store.remove_user(other).await.unwrap();
        }
        let profile = Profile { last_name: Some(format!("Renamed {id}")), ..Profile::default() };
        self.store.update_user(other, profile).await.unwrap();
    }

    async fn item(&mut self) {
        let id = self.new_id();
        self.store.add_item(unlisted(id, "of the run")).await.unwrap();
        let mut changed = unlisted(id - self.dice.below(3), "changed");
        changed.starting_bid_cents = id;
        changed.auctioneer_id = 1 + self.dice.below(2);
        self.store.update_item(changed).await.unwrap();
    }

    async fn attendance(&mut self) {
        let (id, user, auction) = (self.new_id(), 2 + self.dice.below(4), self.any_auction());
        if self.dice.below(3) == 0 {
            let only = (self.dice.below(2) == 0).then_some(AuctionId(auction));
            self.events.leave(UserId(user), only).await.unwrap();
            return;
        }
        let row = AttendanceRow {
            id,
            user_id: user,
            record_ms: self.now,
            auction_id: auction,
            auction_name: Cow::Borrowed("Some auction"),
            state: codes::attendance::ATTENDING,
        };
        self.events.join(row).await.unwrap();
    }
}
