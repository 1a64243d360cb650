//! Bids of the event store: proposed, settled, listed by bidder.

use std::sync::Arc;

use barograph_auction_api::{AuctionId, BidOutcome, BidRecord, ItemId, UserId};

use super::data::{ONGOING, UNTOUCHED, old_bid};
use super::{ALL, event_data, in_pages};
use crate::{BidRow, CLOCK_START_MS, Events, PageWindow, SettledBid, StoreError, codes};

/// A time within the run.
const NOW: i64 = CLOCK_START_MS + 30_000;

/// A bid of this run by user 2 or 5.
fn proposed(id: i64, bidder_id: i64, auction_id: i64) -> BidRow {
    BidRow {
        id,
        auction_id,
        item_id: auction_id * 2,
        listing: 900 - auction_id,
        state: codes::bid::PROPOSED,
        sequence: 2_000 - id,
        fence: 7,
        ..old_bid(id, bidder_id, NOW + id)
    }
}

fn settled(bid: &BidRow, state: i64) -> SettledBid {
    SettledBid { bidder: UserId(bid.bidder_id), bid_ms: bid.bid_ms, bid: bid.id, state }
}

fn as_shown(row: &BidRow) -> BidRecord {
    BidRecord {
        id: row.id,
        auction_id: AuctionId(row.auction_id),
        item_id: ItemId(row.item_id),
        amount_cents: row.amount_cents,
        sequence: u32::try_from(row.sequence).expect("the suite's sequence numbers are small"),
        bid_ms: row.bid_ms,
        outcome: match row.state {
            codes::bid::WINNING => BidOutcome::Winning,
            codes::bid::PROPOSED => BidOutcome::Proposed,
            _ => BidOutcome::High,
        },
    }
}

async fn outcomes<S: Events + ?Sized>(store: &S, user: i64) -> Vec<(i64, BidOutcome)> {
    let page = store.user_bids(UserId(user), ALL).await.unwrap();
    assert_eq!(page.total_records as usize, page.items.len());
    page.items.iter().map(|b| (b.id, b.outcome)).collect()
}

pub(super) async fn histories<S: Events + ?Sized>(store: &S) {
    assert!(!store.describe().product.is_empty() && !store.describe().durability.is_empty());
    store.ping().await.unwrap();
    let mut loaded: Vec<BidRow> = event_data().into_iter().flat_map(|b| b.bids).collect();
    loaded.retain(|b| b.bidder_id == 2);
    loaded.sort_by_key(|b| (-b.bid_ms, -b.id));
    let expected: Vec<BidRecord> = loaded.iter().map(as_shown).collect();
    for size in [1, 10, 23, 100] {
        let listed = in_pages(size, async |w| store.user_bids(UserId(2), w).await).await;
        assert_eq!(listed, expected, "latest first, in pages of {size}");
    }
    let beyond = store.user_bids(UserId(2), PageWindow { page: 7, size: 10 }).await.unwrap();
    assert_eq!((beyond.items.len(), beyond.total_records), (0, 23));
    assert_eq!(outcomes(store, 5).await, [], "user 5 did not bid");
    assert_eq!(outcomes(store, 3).await, [(5, BidOutcome::High)]);
    let new = [proposed(1_001, 2, ONGOING), proposed(1_002, 5, ONGOING)];
    store.write(&new, &[]).await.unwrap();
    let first = store.user_bids(UserId(2), PageWindow { page: 0, size: 2 }).await.unwrap();
    assert_eq!(first.items, [as_shown(&new[0]), expected[0]], "loaded and new bids are one list");
    assert_eq!(first.total_records, 24);
}

pub(super) async fn settling<S: Events + ?Sized>(store: &S) {
    use codes::bid::{HIGH, VOID, WINNING};
    assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), [], "loaded bids are settled");
    let bids: Vec<BidRow> = (1_001..1_006).map(|id| proposed(id, 5, ONGOING)).collect();
    let elsewhere = proposed(1_009, 5, UNTOUCHED);
    // Not in the order of their ids.
    let written: Vec<BidRow> = [&bids[2], &bids[0], &elsewhere, &bids[1]].map(Clone::clone).to_vec();
    store.write(&written, &[]).await.unwrap();
    store.write(&bids[3..], &[settled(&bids[0], HIGH)]).await.unwrap();
    assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), bids[1..], "by id");
    assert_eq!(store.unsettled(AuctionId(UNTOUCHED)).await.unwrap(), [elsewhere]);
    let rest = [
        settled(&bids[1], HIGH),
        settled(&bids[2], VOID),
        settled(&bids[3], HIGH),
        settled(&bids[1], WINNING),
    ];
    store.write(&[], &rest).await.unwrap();
    assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), bids[4..]);
    let expected = [
        (1_009, BidOutcome::Proposed),
        (1_005, BidOutcome::Proposed),
        (1_004, BidOutcome::High),
        (1_002, BidOutcome::Winning),
        (1_001, BidOutcome::High),
    ];
    assert_eq!(
        outcomes(store, 5).await,
        expected,
        "void bids are hidden, of two settlements the later counts"
    );
    let pages = in_pages(2, async |w| store.user_bids(UserId(5), w).await).await;
    assert_eq!(pages.iter().map(|b| b.id).collect::<Vec<_>>(), expected.map(|e| e.0), "also in pages");
    store.write(&[], &[settled(&bids[0], WINNING)]).await.unwrap();
    let together = proposed(1_010, 5, ONGOING);
    store.write(std::slice::from_ref(&together), &[settled(&together, HIGH)]).await.unwrap();
    let now = outcomes(store, 5).await;
    assert_eq!((now[0], now[5]), ((1_010, BidOutcome::High), (1_001, BidOutcome::Winning)));
    let loaded = old_bid(120, 2, CLOCK_START_MS - 5_000_000 + 60_000);
    store.write(&[], &[settled(&loaded, WINNING)]).await.unwrap();
    assert!(
        outcomes(store, 2).await.contains(&(120, BidOutcome::Winning)),
        "a loaded bid can win in this run"
    );
    assert_eq!(outcomes(store, 2).await.len(), 23);
}

pub(super) async fn repeated<S: Events + ?Sized>(store: &S) {
    let bids: Vec<BidRow> = (1_001..1_031).map(|id| proposed(id, 2 + id % 2 * 3, ONGOING)).collect();
    let won: Vec<SettledBid> = bids[..20].iter().map(|b| settled(b, codes::bid::HIGH)).collect();
    store.write(&bids, &[]).await.unwrap();
    store.write(&bids, &[]).await.unwrap();
    assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), bids, "a bid proposed twice is one bid");
    store.write(&[], &won).await.unwrap();
    let before = (outcomes(store, 2).await, outcomes(store, 5).await, store.run_bids().await.unwrap());
    for _ in 0..2 {
        store.write(&bids, &won).await.unwrap();
        store.write(&[], &won).await.unwrap();
        let after = (outcomes(store, 2).await, outcomes(store, 5).await, store.run_bids().await.unwrap());
        assert_eq!(before, after, "what is repeated changes nothing");
        assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), bids[20..]);
    }
    store.write(&bids[..20], &[]).await.unwrap();
    assert_eq!(store.unsettled(AuctionId(ONGOING)).await.unwrap(), bids[20..], "a settled bid stays settled");
    let unknown = proposed(5_000, 9, ONGOING);
    store.write(&[], &[settled(&unknown, codes::bid::HIGH)]).await.unwrap();
    assert_eq!(outcomes(store, 9).await, [], "settling makes no bid");
    store.write(&[], &[]).await.unwrap();
}

pub(super) async fn of_the_run<S: Events + ?Sized>(store: &S) {
    assert_eq!(store.run_bids().await.unwrap(), [], "loaded bids are not of this run");
    let mut bids = Vec::new();
    for id in 1_001..1_257 {
        bids.push(proposed(id, 1 + id % 11, 1 + id % 3));
    }
    store.write(&bids, &[]).await.unwrap();
    for bid in &mut bids {
        bid.state = bid.id % 4;
    }
    let decided = bids.iter().filter(|b| b.state != codes::bid::PROPOSED);
    let states: Vec<SettledBid> = decided.map(|b| settled(b, b.state)).collect();
    store.write(&[], &states).await.unwrap();
    bids.sort_by_key(|b| (b.listing, b.sequence, b.id));
    assert_eq!(store.run_bids().await.unwrap(), bids, "all of them, by listing, sequence and id");
}

/// Written bids persist when the store is opened again.
pub(super) async fn stay<S: Events + ?Sized>(store: &S, open: &impl AsyncFn() -> Result<Arc<S>, StoreError>) {
    let bids = [proposed(1_001, 2, ONGOING), proposed(1_002, 5, ONGOING)];
    store.write(&bids, &[settled(&bids[0], codes::bid::HIGH)]).await.unwrap();
    let again = open().await.unwrap();
    assert_eq!(again.unsettled(AuctionId(ONGOING)).await.unwrap(), bids[1..]);
    assert_eq!(again.run_bids().await.unwrap().len(), 2);
    assert_eq!(outcomes(&*again, 2).await.len(), 24);
}
