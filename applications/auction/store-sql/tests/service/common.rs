//! Common parts of the tests with servers: a small data set, an owner of auctions, and sales.

use std::time::Duration;

use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind};
use barograph_auction_store::{
    CLOCK_START_MS, Change, Heartbeat, LeaderState, Registry, Relational, Standing, contract,
};
use barograph_store_sql::{Sql, load};

/// More than all sales of a test together.
pub(crate) const CREDIT_CENTS: i64 = 1_000_000_000;

/// Price of an item, in cents.
pub(crate) const PRICE_CENTS: i64 = 7;

/// Time limit for a condition to become true on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Loads the data set of the contract, with ample credit for all users.
pub(crate) async fn loaded(url: &str) {
    let mut data = contract::relational_data();
    for user in data.iter_mut().flat_map(|batch| &mut batch.users) {
        user.credit_cents = CREDIT_CENTS;
    }
    contract::load(load(url).await.unwrap(), data).await.unwrap();
}

/// A loaded user who can buy.
pub(crate) fn buyer() -> UserId {
    let data = contract::relational_data();
    data.iter().flat_map(|batch| &batch.users).map(|user| UserId(user.id)).max().expect("there are users")
}

/// Registers a node, which leads if it can.
pub(crate) async fn enlisted(store: &Sql, node: &str) -> Heartbeat {
    let beat = Heartbeat { node: node.to_owned(), standing: Standing::Active, lease_ms: 600_000 };
    store.enlist(&beat).await.unwrap();
    store.beat(&beat).await.unwrap();
    beat
}

/// Running auctions, and an item of each.
pub(crate) async fn running(store: &Sql) -> Vec<(AuctionId, ItemId)> {
    let states = store.running().await.unwrap();
    states.into_iter().filter_map(|s| Some((s.auction.id, s.items.first()?.item))).collect()
}

/// `leader` assigns an auction to `node`, which claims it; returns the fence.
pub(crate) async fn handed_over(leader: (&Sql, &str), node: (&Sql, &str), auction: AuctionId) -> i64 {
    let led = leader.0.assign(leader.1, &[(auction, node.1.to_owned())]).await.unwrap();
    assert_eq!(led, LeaderState::Yes);
    let claimed = node.0.claim(node.1, &[auction]).await.unwrap();
    claimed.first().expect("the auction is assigned to the node").1
}

/// One listing from its beginning to its sale, as changes made under a fence. `round` names it within its auction.
pub(crate) fn sale((auction, item): (AuctionId, ItemId), round: i64, fence: i64) -> Vec<Change> {
    let steps = [
        (EventKind::ItemStarted, BidState::Open, UserId(0)),
        (EventKind::NewHighBid, BidState::Open, buyer()),
        (EventKind::LastCall, BidState::LastCall, buyer()),
        (EventKind::Sold, BidState::Sold, buyer()),
    ];
    let change = |(at, (kind, state, bidder)): (u32, (EventKind, BidState, UserId))| {
        let at_ms = CLOCK_START_MS + round * 10 + i64::from(at);
        Change {
            auction,
            event: Event {
                at_ms,
                kind,
                bidding: Bidding { item, bidder, amount: PRICE_CENTS, sequence: at + 1, state },
            },
            listing: auction.0 * 1_000_000_000 + round,
            round,
            bid: round,
            bid_ms: at_ms,
            fence,
        }
    };
    (0..).zip(steps).map(change).collect()
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, is: impl Fn() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let seen = async {
        while !is() {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"));
}
