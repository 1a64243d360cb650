//! Measures the embedded stores on a made data set: loading, reads, group commits.
//!
//! The folder for the files should be on a disk, not in memory.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind};
use barograph_auction_store::{
    AuctionRow, BidRow, CLOCK_START_MS, Change, EventBatch, Events, HighBidRow, ImageRow, ItemFilter,
    ItemRow, PageWindow, Relational, RelationalBatch, SettledBid, Span, StoreError, UserRow, codes,
};
use barograph_store_sqlite::{EventFile, Files, RelationalFile, Sqlite, open};
use tokio::runtime::Runtime;

use crate::say::say;

/// Loaded users.
const USERS: i64 = 20_000;
/// Loaded auctions.
const AUCTIONS: i64 = 2_000;
/// Loaded items of each auction.
const ITEMS_EACH: i64 = 50;
/// Loaded bids.
const BIDS: i64 = 500_000;
/// Page of a list.
const PAGE: PageWindow = PageWindow { page: 0, size: 10 };
/// Words of descriptions.
const WORDS: [&str; 8] = ["brass", "lamp", "oak", "chair", "radio", "clock", "vase", "walnut"];

/// Spreads numbers without a pattern that favours caches.
fn spread(n: i64, below: i64) -> i64 {
    (n.wrapping_mul(0x5DEE_CE66_D1CE_4E5B) >> 20).rem_euclid(below)
}

fn user(id: i64) -> UserRow {
    UserRow {
        id,
        name: format!("user{id}@example.org"),
        password: "x".repeat(96),
        first_name: Cow::Borrowed("Ada"),
        last_name: Cow::Borrowed("Example"),
        credit_cents: 100_000_000,
        enabled: true,
    }
}

fn auction(id: i64) -> AuctionRow {
    AuctionRow {
        id,
        name: Cow::Borrowed("An auction of things"),
        category: Cow::Borrowed("Things"),
        start_ms: CLOCK_START_MS,
        end_ms: None,
        state: codes::auction::RUNNING,
        auctioneer_id: 1,
    }
}

fn item(id: i64) -> ItemRow {
    let words: Vec<&str> = (0..10).map(|n| WORDS[spread(id * 10 + n, 8) as usize]).collect();
    ItemRow {
        id,
        auction_id: Some(1 + (id - 1) / ITEMS_EACH),
        auctioneer_id: 1 + spread(id, USERS),
        condition: id % 7,
        manufacturer: Cow::Borrowed("Maker"),
        short_description: words.join(" "),
        long_description: "long ".repeat(100),
        origin_ms: 0,
        starting_bid_cents: 100,
        state: codes::item::IN_AUCTION,
    }
}

fn sale(id: i64) -> HighBidRow {
    HighBidRow {
        id,
        auction_id: 1 + (id - 1) / ITEMS_EACH,
        item_id: id,
        bidder_id: 1 + spread(id, USERS),
        amount_cents: 500,
        state: codes::high_bid::SOLD,
        sequence: 5,
        start_ms: CLOCK_START_MS - 100,
        end_ms: Some(CLOCK_START_MS - id),
        bid_ms: CLOCK_START_MS - 50,
        bid_id: id,
        round: 1 + id % ITEMS_EACH,
        fence: 0,
    }
}

fn bid(id: i64, state: i64) -> BidRow {
    BidRow {
        id,
        bidder_id: 1 + spread(id, USERS),
        bid_ms: CLOCK_START_MS + id,
        auction_id: 1 + spread(id, AUCTIONS),
        item_id: 1,
        listing: 1,
        amount_cents: id,
        state,
        sequence: 2,
        fence: 0,
    }
}

fn load(dir: &Path) -> anyhow::Result<usize> {
    let files = Files::in_folder(dir);
    let mut relational = RelationalFile::create(&files.relational)?;
    let users = RelationalBatch { users: (1..=USERS).map(user).collect(), ..RelationalBatch::default() };
    relational.insert(&users)?;
    for auction_id in 1..=AUCTIONS {
        let ids = (auction_id - 1) * ITEMS_EACH + 1..=auction_id * ITEMS_EACH;
        let batch = RelationalBatch {
            auctions: vec![auction(auction_id)],
            items: ids.clone().map(item).collect(),
            high_bids: ids.step_by(2).map(sale).collect(),
            users: Vec::new(),
        };
        relational.insert(&batch)?;
    }
    relational.close("measure")?;
    let mut events = EventFile::create(&files.events)?;
    for first in (1..=BIDS).step_by(5_000) {
        let bids = (first..first + 5_000).map(|id| bid(id, codes::bid::HIGH)).collect();
        events.insert(&EventBatch { bids, ..EventBatch::default() })?;
    }
    let image = |id| ImageRow { id, item_id: id, number: 0, sizes: 7, created_ms: 0 };
    let images = (1..=AUCTIONS * ITEMS_EACH).map(image).collect();
    events.insert(&EventBatch { images, ..EventBatch::default() })?;
    events.close("measure")?;
    Ok((USERS + AUCTIONS + AUCTIONS * ITEMS_EACH * 5 / 2 + BIDS) as usize)
}

async fn reads(
    what: &str,
    count: i64,
    mut one: impl AsyncFnMut(i64) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for n in 0..count / 10 {
        one(n).await?;
    }
    let begun = Instant::now();
    for n in 0..count {
        one(n).await?;
    }
    say(&format!("{what}: {:.1} us over {count}", begun.elapsed().as_secs_f64() * 1e6 / count as f64));
    Ok(())
}

fn changes(batch: i64, size: i64) -> Vec<Change> {
    let change = |n: i64| Change {
        auction: AuctionId(1 + n),
        event: Event {
            at_ms: CLOCK_START_MS + batch,
            kind: if batch == 0 { EventKind::ItemStarted } else { EventKind::NewHighBid },
            bidding: Bidding {
                item: ItemId(1 + n * ITEMS_EACH),
                bidder: UserId(1 + spread(batch * 300 + n, USERS)),
                amount: 100 + batch,
                sequence: 1 + batch as u32,
                state: BidState::Open,
            },
        },
        listing: (1 << 40) + size * 1_000 + n,
        round: 1_000 + size,
        bid: batch * 300 + n,
        bid_ms: CLOCK_START_MS + batch,
        fence: 0,
    };
    (0..size).map(change).collect()
}

/// One owner that applies one batch after the other.
async fn applies(store: &Sqlite, size: i64) -> Result<(), StoreError> {
    let mut times: Vec<Duration> = Vec::new();
    for batch in 0..2_000 {
        let batch = changes(batch, size);
        let begun = Instant::now();
        store.apply(&batch).await?;
        times.push(begun.elapsed());
    }
    state(&format!("apply of {size}"), &mut times, size);
    Ok(())
}

/// Proposes and settles, one call after the other.
async fn writes(store: &Sqlite, size: i64) -> Result<(), StoreError> {
    let mut times: Vec<Duration> = Vec::new();
    for batch in 0..1_000 {
        let first = (1 << 40) + size * 10_000_000 + batch * size;
        let bids: Vec<BidRow> = (first..first + size).map(|id| bid(id, codes::bid::PROPOSED)).collect();
        let settle =
            |b: &BidRow| SettledBid { bidder: UserId(b.bidder_id), bid_ms: b.bid_ms, bid: b.id, state: 0 };
        let settled: Vec<SettledBid> = bids.iter().map(settle).collect();
        let begun = Instant::now();
        store.write(&bids, &[]).await?;
        store.write(&[], &settled).await?;
        times.push(begun.elapsed());
    }
    state(&format!("propose and settle {size}"), &mut times, size);
    Ok(())
}

fn state(what: &str, times: &mut [Duration], size: i64) {
    let all: Duration = times.iter().sum();
    times.sort_unstable();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let rate = times.len() as f64 * size as f64 / all.as_secs_f64();
    say(&format!("{what}: {rate:.0} per second; median {median:?}, p99 {p99:?} over {}", times.len()));
}

/// Many callers at once, so that their changes share commits.
async fn together(store: &Arc<Sqlite>, callers: i64) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            for n in 0..200 {
                let token = Some(format!("token {caller} {n}"));
                store.set_token(UserId(1 + caller), token).await?;
            }
            Ok::<(), StoreError>(())
        });
    }
    for done in tasks.join_all().await {
        done?;
    }
    let rate = (callers * 200) as f64 / begun.elapsed().as_secs_f64();
    say(&format!("set_token by {callers} callers: {rate:.0} per second over {}", callers * 200));
    Ok(())
}

/// Measures the stores on files in a folder.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let [folder] = words else { bail!("wanted is a folder for the files") };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let begun = Instant::now();
    let rows = load(folder)?;
    say(&format!("loaded {rows} rows in {:.2} s", begun.elapsed().as_secs_f64()));
    let (store, _threads) = open(folder, 2)?;
    Runtime::new()?.block_on(measure(&store))?;
    Ok(true)
}

async fn measure(store: &Arc<Sqlite>) -> anyhow::Result<()> {
    let ever = Span { from: 0, to: i64::MAX };
    let lamps = ItemFilter { text: Some("lamp oak rad".to_owned()), ..ItemFilter::default() };
    let s = &**store;
    reads("user", 100_000, async |n| s.user(UserId(1 + spread(n, USERS))).await.map(drop)).await?;
    reads("item and its images", 100_000, async |n| {
        let id = ItemId(1 + spread(n, AUCTIONS * ITEMS_EACH));
        s.item(id).await?;
        s.images(&[id]).await.map(drop)
    })
    .await?;
    reads("page of an auction's items and their images", 20_000, async |n| {
        let page = s.auction_items(AuctionId(1 + spread(n, AUCTIONS)), PAGE).await?;
        let ids: Vec<ItemId> = page.items.iter().map(|i| i.id).collect();
        s.images(&ids).await.map(drop)
    })
    .await?;
    let some_user = |n| UserId(1 + spread(n, USERS));
    reads("purchases", 50_000, async |n| s.purchases(some_user(n), ever, PAGE).await.map(drop)).await?;
    reads("bids of a user", 50_000, async |n| s.user_bids(some_user(n), PAGE).await.map(drop)).await?;
    reads("search for three words", 20, async |_| s.items(&lamps, PAGE).await.map(drop)).await?;
    reads("all running auctions", 3, async |_| s.running().await.map(drop)).await?;
    for size in [1, 16, 256] {
        applies(s, size).await?;
        writes(s, size).await?;
    }
    for callers in [1, 16, 256] {
        together(store, callers).await?;
    }
    Ok(())
}
