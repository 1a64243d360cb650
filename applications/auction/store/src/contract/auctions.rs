//! Auctions: lists and their filters, their begin, and the state taken over by an owner.

use barograph_auction_api::{AuctionId, AuctionState, ItemId, UserId};
use barograph_auction_rules::Listing;

use super::data::{
    BETWEEN, CREDIT, LATER, ONGOING, OVER, RUNNING, SOON, UNTOUCHED, closed_listing, open_listing,
};
use super::{in_pages, relational_data};
use crate::{AuctionFilter, CLOCK_START_MS, PageWindow, Relational, StartState};

async fn ids<S: Relational + ?Sized>(store: &S, filter: &AuctionFilter) -> Vec<i64> {
    in_pages(2, async |window| store.auctions(filter, window).await).await.iter().map(|a| a.id.0).collect()
}

pub(super) async fn lists<S: Relational + ?Sized>(store: &S) {
    for row in relational_data().iter().flat_map(|b| &b.auctions) {
        let auction = store.auction(AuctionId(row.id)).await.unwrap().expect("a loaded auction");
        assert_eq!((auction.name.as_str(), auction.category.as_str()), (&*row.name, &*row.category));
        assert_eq!((auction.start_ms, auction.end_ms), (row.start_ms, row.end_ms));
        assert_eq!(auction.auctioneer_id, UserId(row.auctioneer_id));
    }
    assert_eq!(store.auction(AuctionId(99)).await.unwrap(), None);
    let any = AuctionFilter::default();
    assert_eq!(ids(store, &any).await, [ONGOING, UNTOUCHED, BETWEEN, SOON, LATER, OVER]);
    let beyond = store.auctions(&any, PageWindow { page: 9, size: 5 }).await.unwrap();
    assert_eq!((beyond.items.len(), beyond.total_records), (0, 6));
    let state = |state| AuctionFilter { state: Some(state), ..AuctionFilter::default() };
    assert_eq!(ids(store, &state(AuctionState::Running)).await, RUNNING);
    assert_eq!(ids(store, &state(AuctionState::Future)).await, [SOON, LATER]);
    assert_eq!(ids(store, &state(AuctionState::Complete)).await, [OVER]);
    for (text, expected) in [
        ("lamps", vec![ONGOING, OVER]),
        ("AND CH", vec![ONGOING]),
        ("100%", vec![UNTOUCHED]),
        ("%", vec![UNTOUCHED]),
        ("r_s", vec![BETWEEN]),
        ("r\\_s", vec![]),
        ("' OR ''='", vec![]),
        ("", vec![ONGOING, UNTOUCHED, BETWEEN, SOON, LATER, OVER]),
    ] {
        let filter = AuctionFilter { text: Some(text.to_owned()), ..AuctionFilter::default() };
        assert_eq!(ids(store, &filter).await, expected, "auctions with {text:?} in their name");
    }
    let mut filter = AuctionFilter { category: Some("Furniture".to_owned()), ..AuctionFilter::default() };
    assert_eq!(ids(store, &filter).await, [UNTOUCHED, SOON, OVER]);
    filter.state = Some(AuctionState::Future);
    assert_eq!(ids(store, &filter).await, [SOON]);
    filter.text = Some("lamps".to_owned());
    assert_eq!(ids(store, &filter).await, [0; 0]);
    let part = AuctionFilter { category: Some("furniture".to_owned()), ..AuctionFilter::default() };
    assert_eq!(ids(store, &part).await, [0; 0], "a category is compared exactly");
}

pub(super) async fn starting<S: Relational + ?Sized>(store: &S) {
    let start = CLOCK_START_MS + 60_000;
    assert_eq!(store.next_start().await.unwrap(), Some(start));
    assert_eq!(store.begin_due(start - 1).await.unwrap(), []);
    assert_eq!(store.begin_due(start).await.unwrap(), [AuctionId(SOON)]);
    assert_eq!(store.begin_due(start).await.unwrap(), [], "begun by the call before");
    let begun = store.auction(AuctionId(SOON)).await.unwrap().expect("auction");
    assert_eq!((begun.state, begun.end_ms), (AuctionState::Running, None));
    assert_eq!(store.next_start().await.unwrap(), Some(start + 60_000));
    assert!(store.start_state(AuctionId(SOON)).await.unwrap().is_some(), "a begun auction runs");
    assert_eq!(store.begin_due(start + 3_600_000).await.unwrap(), [AuctionId(LATER)]);
    assert_eq!(store.next_start().await.unwrap(), None);
    let running = store.running().await.unwrap();
    let ids: Vec<_> = running.iter().map(|s| s.auction.id.0).collect();
    assert_eq!(ids, [ONGOING, UNTOUCHED, BETWEEN, SOON, LATER]);
    assert_eq!(running[4].items, []);
}

fn listings(ids: std::ops::RangeInclusive<i64>) -> Vec<Listing> {
    ids.map(|id| Listing { item: ItemId(id), starting_bid: id * 100 }).collect()
}

pub(super) async fn running<S: Relational + ?Sized>(store: &S) {
    let running = store.running().await.unwrap();
    let expected: [(i64, Vec<Listing>, _, _); 3] = [
        (ONGOING, listings(1..=4), Some(open_listing()), Some(CREDIT)),
        (UNTOUCHED, listings(5..=7), None, None),
        (BETWEEN, listings(8..=9), Some(closed_listing()), Some(CREDIT)),
    ];
    assert_eq!(running.len(), expected.len());
    for (state, (id, items, latest, credit)) in running.iter().zip(expected) {
        let StartState { auction, items: found, latest: last, bidder_credit } = state;
        assert_eq!((auction.id.0, auction.state), (id, AuctionState::Running));
        assert_eq!((found, last), (&items, &latest), "auction {id}");
        assert!(credit.is_none_or(|c| c == *bidder_credit), "auction {id}: {bidder_credit}");
        let alone = store.start_state(auction.id).await.unwrap();
        assert_eq!(alone.as_ref(), Some(state), "one is as among all");
    }
    for other in [SOON, OVER, 99] {
        assert_eq!(store.start_state(AuctionId(other)).await.unwrap(), None, "auction {other} does not run");
    }
    assert_eq!(store.listing(11).await.unwrap(), Some(open_listing()));
    assert_eq!(store.listing(99).await.unwrap(), None);
    let audit = store.audit().await.unwrap();
    assert_eq!((audit.credit_cents, audit.below_zero), (audit.initial.credit_cents, 0));
    assert_eq!(audit.offers.len(), 1, "what was over before the start is not offered in this run");
    assert_eq!((&audit.offers[0].row, audit.offers[0].preloaded), (&open_listing(), true));
    assert_eq!((audit.offers[0].starting_bid, audit.offers[0].item_state), (100, crate::codes::item::ACTIVE));
}
