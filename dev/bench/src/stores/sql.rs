//! Speed of the relational store on servers of this machine: loading, applying changes, reading.
//!
//! Servers that are not installed are left out. They keep their commits. CPU is that of this program and of
//! the server with all its processes.

use std::time::{Duration, Instant};

use anyhow::bail;
use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind};
use barograph_auction_store::{
    AuctionFilter, AuctionRow, CLOCK_START_MS, Change, Heartbeat, HighBidRow, ItemFilter, ItemRow,
    PageWindow, Registry, Relational, RelationalBatch, Span, Standing, StoreError, UserRow, codes,
};
use barograph_store_sql::{Sql, load, open};
use barograph_test_services::{self as services, MissingRequirement, Service};
use tokio::runtime::Builder;

use crate::say::say;

/// Loaded users.
const USERS: i64 = 20_000;
/// Loaded auctions.
const AUCTIONS: i64 = 1_000;
/// Loaded items of each auction.
const ITEMS: i64 = 100;
/// Auctions that run.
const RUNNING: i64 = 64;
/// Users of a batch while loading.
const BATCH: i64 = 5_000;
/// Duration of each measurement.
const FOR: Duration = Duration::from_secs(3);
/// Page of a list.
const PAGE: PageWindow = PageWindow { page: 0, size: 10 };

/// Measures the store on one server, or on both.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let (postgres, mariadb) = match words {
        [] => (true, true),
        ["postgres"] => (true, false),
        ["mariadb"] => (false, true),
        _ => bail!("wanted is postgres, mariadb, or nothing for both"),
    };
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if postgres {
        runtime.block_on(one("PostgreSQL", services::postgres()))?;
    }
    if mariadb {
        runtime.block_on(one("MariaDB", services::mariadb()))?;
    }
    Ok(true)
}

async fn one(name: &str, server: Result<Service, MissingRequirement>) -> Result<(), StoreError> {
    let Some(server) = services::or_skip(server) else { return Ok(()) };
    let (rows, seconds) = loaded(server.url()).await?;
    let store = open(server.url(), 8).await?;
    say(&format!("{name}: {:?}", store.describe()));
    say(&format!("  load: {rows} rows in {seconds:.1} s with indices, {:.0} rows/s", rows as f64 / seconds));
    reads(&store, &server).await?;
    applies(&store, &server).await?;
    Ok(())
}

async fn loaded(url: &str) -> Result<(i64, f64), StoreError> {
    let began = Instant::now();
    let mut loading = load(url).await?;
    let mut rows = USERS;
    for from in (0..USERS).step_by(BATCH as usize) {
        let users = (from + 1..=from + BATCH).map(user).collect();
        loading.add(RelationalBatch { users, ..RelationalBatch::default() }).await?;
    }
    for from in (0..AUCTIONS).step_by(50) {
        let mut batch = RelationalBatch::default();
        for id in from + 1..=from + 50 {
            batch.auctions.push(auction(id));
            batch.items.extend((0..ITEMS).map(|n| item(id, n)));
            batch.high_bids.extend((0..ITEMS).map(|n| high_bid(id, n)));
        }
        rows += 50 * (1 + 2 * ITEMS);
        loading.add(batch).await?;
    }
    say(&format!("  rows alone: {rows} in {:.1} s", began.elapsed().as_secs_f64()));
    loading.finish("measure").await?;
    Ok((rows, began.elapsed().as_secs_f64()))
}

fn user(id: i64) -> UserRow {
    UserRow {
        id,
        name: format!("user{id}@example.org"),
        password: "$argon2id$v=19$m=4096,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2g".to_owned(),
        first_name: "Some".into(),
        last_name: "Body".into(),
        credit_cents: 1_000_000_000,
        enabled: true,
    }
}

fn auction(id: i64) -> AuctionRow {
    AuctionRow {
        id,
        name: format!("Sale number {id}").into(),
        category: "Things".into(),
        start_ms: CLOCK_START_MS - 1_000,
        end_ms: (id > RUNNING).then_some(CLOCK_START_MS - 500),
        state: if id > RUNNING { codes::auction::COMPLETE } else { codes::auction::RUNNING },
        auctioneer_id: 1,
    }
}

fn item(auction: i64, n: i64) -> ItemRow {
    ItemRow {
        id: auction * ITEMS + n,
        auction_id: Some(auction),
        auctioneer_id: auction % USERS + 1,
        condition: n % 7,
        manufacturer: "Maker and sons".into(),
        short_description: line(auction * ITEMS + n, auction),
        long_description: "It stood in a window for long, and the sun was on it every morning. ".repeat(4),
        origin_ms: 0,
        starting_bid_cents: 100 + n,
        state: codes::item::SOLD,
    }
}

/// One word common to all items, one of the auction's, and eight of which a third are among a thousand.
fn line(seed: i64, auction: i64) -> String {
    let mut text = format!("vase lot{auction}");
    let mut draw = u64::from(seed.unsigned_abs() as u32) + 1;
    for _ in 0..8 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bound = if draw >> 40 & 3 == 0 { 1_000 } else { 1_000_000 };
        text.push_str(&format!(" w{}", (draw >> 33) % bound));
    }
    text
}

fn high_bid(auction: i64, n: i64) -> HighBidRow {
    let id = auction * ITEMS + n;
    HighBidRow {
        id,
        auction_id: auction,
        item_id: id,
        bidder_id: id * 7919 % USERS + 1,
        amount_cents: 5_000,
        state: codes::high_bid::SOLD,
        sequence: 9,
        start_ms: CLOCK_START_MS - 5_000,
        end_ms: Some(CLOCK_START_MS - 1_000 - n),
        bid_ms: CLOCK_START_MS - 3_000,
        bid_id: id,
        round: n + 1,
        fence: 0,
    }
}

async fn reads(store: &Sql, server: &Service) -> Result<(), StoreError> {
    let n = std::cell::Cell::new(0_i64);
    let next = || {
        n.set(n.get() + 1);
        n.get() * 7919 % USERS + 1
    };
    measure("user", server, async || store.user(UserId(next())).await.map(drop)).await?;
    measure("token_holder", server, async || store.token_holder(&next().to_string()).await.map(drop)).await?;
    measure("item", server, async || store.item(ItemId(ITEMS + next())).await.map(drop)).await?;
    measure("auction_items", server, async || {
        store.auction_items(AuctionId(next() % AUCTIONS + 1), PAGE).await.map(drop)
    })
    .await?;
    let span = Span { from: 0, to: i64::MAX };
    measure("purchases", server, async || store.purchases(UserId(next()), span, PAGE).await.map(drop))
        .await?;
    let live = AuctionFilter {
        state: Some(barograph_auction_api::AuctionState::Running),
        ..AuctionFilter::default()
    };
    measure("auctions, running", server, async || store.auctions(&live, PAGE).await.map(drop)).await?;
    for (name, before) in [("items, one word", ""), ("items, one word and one of all items", "vase ")] {
        let filter =
            |n: i64| ItemFilter { text: Some(format!("{before}w{}", n % 1_000)), ..ItemFilter::default() };
        measure(name, server, async || store.items(&filter(next()), PAGE).await.map(drop)).await?;
    }
    measure("running", server, async || store.running().await.map(drop)).await?;
    measure("set_token", server, async || {
        let id = next();
        store.set_token(UserId(id), Some(format!("{id}"))).await.map(drop)
    })
    .await
}

/// Repeats an operation one after the other for a while, and prints its time and cost.
async fn measure(
    name: &str,
    server: &Service,
    work: impl AsyncFn() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for _ in 0..20 {
        work().await?;
    }
    let (began, own, theirs) = (Instant::now(), cpu(&[std::process::id()]), cpu(&server.pids()));
    let mut times = Vec::new();
    while began.elapsed() < FOR {
        let one = Instant::now();
        work().await?;
        times.push(one.elapsed());
    }
    let (own, theirs) = (cpu(&[std::process::id()]) - own, cpu(&server.pids()) - theirs);
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_micros();
    say(&format!(
        "  {name}: {:.0}/s, median {} us, p99 {} us, CPU per call: here {:.0} us, server {:.0} us (n {})",
        times.len() as f64 / began.elapsed().as_secs_f64(),
        at(50),
        at(99),
        own * 1e6 / times.len() as f64,
        theirs * 1e6 / times.len() as f64,
        times.len(),
    ));
    Ok(())
}

/// CPU seconds used by processes so far.
fn cpu(pids: &[u32]) -> f64 {
    let ticks = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default().to_owned();
        let field =
            |n: usize| after.split_whitespace().nth(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        field(11) + field(12)
    };
    pids.iter().map(ticks).sum::<f64>() / 100.0
}

async fn applies(store: &Sql, server: &Service) -> Result<(), StoreError> {
    let beat = Heartbeat { node: "one".to_owned(), standing: Standing::Active, lease_ms: 600_000 };
    store.enlist(&beat).await?;
    measure("beat", server, async || store.beat(&beat).await.map(drop)).await?;
    let auctions: Vec<AuctionId> = (1..=RUNNING).map(AuctionId).collect();
    let moves: Vec<_> = auctions.iter().map(|id| (*id, beat.node.clone())).collect();
    store.assign(&beat.node, &moves).await?;
    let fence = store.claim(&beat.node, &auctions).await?.first().map_or(0, |c| c.1);
    let next = std::cell::Cell::new(0_i64);
    let batch = |size: i64| -> Vec<Change> {
        let from = next.replace(next.get() + size);
        (from..from + size).map(|n| change(n, fence)).collect()
    };
    for size in [1, 16, 256] {
        let name = format!("apply, batches of {size}");
        measure(&name, server, async || store.apply(&batch(size)).await.map(drop)).await?;
    }
    for size in [1, 16, 64] {
        let name = format!("apply, 4 at a time, batches of {size} each");
        measure(&name, server, async || {
            let four: [Vec<Change>; 4] = std::array::from_fn(|_| batch(size));
            let [a, b, c, d] = &four;
            tokio::try_join!(store.apply(a), store.apply(b), store.apply(c), store.apply(d)).map(drop)
        })
        .await?;
    }
    Ok(())
}

/// The n-th change: auctions take turns, and in each a listing begins, sees eight bids, gets its last call and is sold.
fn change(n: i64, fence: i64) -> Change {
    let (auction, step) = (n % RUNNING + 1, n / RUNNING);
    let (round, at) = (step / 11 + 1, step % 11);
    let (kind, state) = match at {
        0 => (EventKind::ItemStarted, BidState::Open),
        9 => (EventKind::LastCall, BidState::LastCall),
        10 => (EventKind::Sold, BidState::Sold),
        _ => (EventKind::NewHighBid, BidState::Open),
    };
    let bidding = Bidding {
        item: ItemId(auction * ITEMS + round % ITEMS),
        bidder: UserId(if at == 0 { 0 } else { (n - n % (RUNNING * 11)) * 31 % USERS + auction }),
        amount: 100 + at,
        sequence: u32::try_from(at).unwrap_or(0) + 1,
        state,
    };
    Change {
        auction: AuctionId(auction),
        event: Event { at_ms: CLOCK_START_MS + n, kind, bidding },
        listing: 10_000_000 + round * 1_000 + auction,
        round: ITEMS + round,
        bid: n,
        bid_ms: CLOCK_START_MS + n,
        fence,
    }
}
