//! Measures the event store: loading, writes in batches of several sizes, reads, and the mixture of the
//! auction's users. Starts its own servers, or uses those at the given addresses (and replaces their data).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use barograph_auction_api::{ItemId, UserId};
use barograph_auction_store::{
    AttendanceRow, BidRow, CLOCK_START_MS, EventBatch, Events, ImageRow, PageWindow, SettledBid, StoreError,
    codes, contract,
};
use barograph_store_documents as documents;
use barograph_test_services as services;
use tokio::runtime::Runtime;

use crate::say::say;

/// Users with a history, as in the size `micro` at history factor 0.1.
const USERS: i64 = 15_000;
/// Loaded bids.
const BIDS: i64 = 150_000;
/// Loaded attendances.
const ATTENDANCES: i64 = 45_000;
/// Loaded images.
const IMAGES: i64 = 20_000;
/// Rows of a batch while loading.
const ROWS: i64 = 5_000;
/// Current auctions.
const AUCTIONS: i64 = 200;
/// Duration of each measurement.
const FOR: Duration = Duration::from_secs(3);
/// Calls per second below which no larger batches are tried: they would exceed the store's time limit.
const TOO_SLOW: f64 = 20.0;
/// Connections to the store.
const CONNECTIONS: usize = 8;
/// Page of a list.
const PAGE: PageWindow = PageWindow { page: 0, size: 5 };

/// Source of ids and of users without repetition.
static NEXT: AtomicI64 = AtomicI64::new(10_000_000);

fn next() -> i64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn some_user(of: i64) -> i64 {
    1 + of.wrapping_mul(2_654_435_761).rem_euclid(USERS)
}

fn bid(id: i64, state: i64) -> BidRow {
    let auction = 1 + id % AUCTIONS;
    BidRow {
        id,
        bidder_id: some_user(id),
        bid_ms: CLOCK_START_MS + id,
        auction_id: auction,
        item_id: auction * 20,
        listing: auction * 20,
        amount_cents: 100 * id,
        state,
        sequence: id % 1_000_000,
        fence: 1,
    }
}

fn visit(id: i64, state: i64) -> AttendanceRow {
    AttendanceRow {
        id,
        user_id: some_user(id),
        record_ms: CLOCK_START_MS + id,
        auction_id: 1 + id % AUCTIONS,
        auction_name: "Lamps and other light of the last century".into(),
        state,
    }
}

fn data() -> Vec<EventBatch> {
    let images =
        |id| ImageRow { id, item_id: 1 + id / 4, number: id % 4, sizes: 7, created_ms: CLOCK_START_MS };
    let parts = |count: i64| (0..count / ROWS).map(|part| part * ROWS..(part + 1) * ROWS);
    let bids = parts(BIDS).map(|ids| EventBatch {
        bids: ids.map(|id| bid(id, codes::bid::HIGH)).collect(),
        ..Default::default()
    });
    let attendance = parts(ATTENDANCES).map(|ids| EventBatch {
        attendance: ids.map(|id| visit(id, codes::attendance::LEFT)).collect(),
        ..Default::default()
    });
    let images =
        parts(IMAGES).map(|ids| EventBatch { images: ids.map(images).collect(), ..Default::default() });
    bids.chain(attendance).chain(images).collect()
}

/// Runs an operation for a while from several tasks at once, and prints its rate and times.
async fn figure(
    name: &str,
    places: usize,
    act: impl AsyncFn() -> Result<(), StoreError>,
) -> Result<f64, StoreError> {
    let start = Instant::now();
    let place = async || {
        let mut times = Vec::new();
        while start.elapsed() < FOR {
            let before = Instant::now();
            act().await?;
            times.push(before.elapsed());
        }
        Ok(times)
    };
    let all = futures::future::try_join_all((0..places).map(|_| place())).await?;
    let mut times: Vec<Duration> = all.into_iter().flatten().collect();
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    times.sort_unstable();
    let ms = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    say(&format!(
        "{name:<34} {places:>3} at once {rate:>9.0}/s  p50 {:>8.2} ms  p99 {:>8.2} ms  n {}",
        ms(0.5),
        ms(0.99),
        times.len()
    ));
    Ok(rate)
}

/// A batch of proposals with the settlements of an older batch that was certainly proposed: that of 16 calls
/// before.
async fn write(store: &dyn Events, size: i64) -> Result<(), StoreError> {
    let first = NEXT.fetch_add(size, Ordering::Relaxed);
    let bids: Vec<BidRow> = (first..first + size).map(|id| bid(id, codes::bid::PROPOSED)).collect();
    let earlier = (first - 16 * size..first - 15 * size).map(|id| bid(id, codes::bid::HIGH));
    let settled: Vec<SettledBid> = earlier
        .map(|bid| SettledBid {
            bidder: UserId(bid.bidder_id),
            bid_ms: bid.bid_ms,
            bid: bid.id,
            state: codes::bid::HIGH,
        })
        .collect();
    store.write(&bids, &settled).await
}

/// One step of the users' mixture: of 59 steps, the work of 1,000 users in a second.
async fn mixed(store: &dyn Events) -> Result<(), StoreError> {
    let id = next();
    let user = UserId(some_user(id));
    match id % 59 {
        0..20 => store.join(visit(id, codes::attendance::ATTENDING)).await.map(drop),
        20..30 => store.leave(user, None).await.map(drop),
        30..39 => write(store, 1).await,
        39..49 => store.user_bids(user, PAGE).await.map(drop),
        _ => store.user_attendance(user, PAGE).await.map(drop),
    }
}

async fn measure(url: &str) -> Result<(), StoreError> {
    let batches = data();
    let rows = BIDS + ATTENDANCES + IMAGES;
    let start = Instant::now();
    contract::load(documents::load(url).await?, batches).await?;
    say(&format!("loaded {rows} rows, {:.0} rows/s", rows as f64 / start.elapsed().as_secs_f64()));
    let store: Arc<dyn Events> = documents::open(url, CONNECTIONS).await?;
    let store = &*store;
    say(&format!("{:?}", store.describe()));
    for size in [1, 16, 256] {
        let mut rate = 0.0;
        for places in [1, 8] {
            let name = format!("write {size} proposed, {size} settled");
            rate = figure(&name, places, async || write(store, size).await).await?;
        }
        if rate < TOO_SLOW {
            break;
        }
    }
    for places in [1, 8] {
        figure("user_bids", places, async || {
            store.user_bids(UserId(some_user(next())), PAGE).await.map(drop)
        })
        .await?;
        let attendance = async || store.user_attendance(UserId(some_user(next())), PAGE).await.map(drop);
        figure("user_attendance", places, attendance).await?;
        figure("images of 5 items", places, async || {
            let first = next() % 4_000;
            store.images(&[1, 2, 3, 4, 5].map(|item| ItemId(first + item))).await.map(drop)
        })
        .await?;
        figure("join", places, async || {
            store.join(visit(next(), codes::attendance::ATTENDING)).await.map(drop)
        })
        .await?;
        figure("leave", places, async || store.leave(UserId(some_user(next())), None).await.map(drop))
            .await?;
    }
    let rate = figure("the users' mixture", 16, async || mixed(store).await).await?;
    say(&format!("which is the work of {:.0} users of the auction", rate / 59.0 * 1_000.0));
    let start = Instant::now();
    let bids = store.run_bids().await?.len();
    say(&format!("run_bids: {bids} bids in {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Measures the store at these addresses, or on servers of its own.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let runtime = Runtime::new()?;
    for address in words {
        runtime.block_on(measure(address))?;
    }
    if words.is_empty() {
        for started in [services::postgres(), services::ferretdb()] {
            if let Some(service) = services::or_skip(started) {
                runtime.block_on(measure(service.url()))?;
            }
        }
    }
    Ok(true)
}
