//! The server dies amid writes: confirmed ones persist, and repetition is harmless.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use barograph_auction_api::{AuctionId, UserId};
use barograph_auction_store::{
    AttendanceRow, BidRow, CLOCK_START_MS, Events, PageWindow, SettledBid, StoreError, codes, contract,
};
use barograph_store_documents as documents;
use barograph_test_services::{self as services, Service};

/// Concurrent writers, one per auction. They share bidders.
const WRITERS: i64 = 4;
/// Bidders.
const BIDDERS: i64 = 7;
/// Confirmed writes before the server dies.
const BEFORE: u32 = 40;
/// Time limit for the recovery.
const DEADLINE: Duration = Duration::from_secs(60);

const ALL: PageWindow = PageWindow { page: 0, size: 100_000 };

fn bid(auction: i64, at: i64) -> BidRow {
    BidRow {
        id: auction * 100_000 + at,
        bidder_id: 1 + at % BIDDERS,
        bid_ms: CLOCK_START_MS + at,
        auction_id: auction,
        item_id: auction,
        listing: auction,
        amount_cents: 100 * at,
        state: codes::bid::PROPOSED,
        sequence: at,
        fence: 1,
    }
}

fn high(bid: &BidRow) -> SettledBid {
    SettledBid { bidder: UserId(bid.bidder_id), bid_ms: bid.bid_ms, bid: bid.id, state: codes::bid::HIGH }
}

fn visit(auction: i64, at: i64) -> AttendanceRow {
    AttendanceRow {
        id: auction * 100_000 + at,
        user_id: 1 + at % BIDDERS,
        record_ms: CLOCK_START_MS + at,
        auction_id: auction,
        auction_name: "lamps".into(),
        state: codes::attendance::ATTENDING,
    }
}

/// Confirmed writes of a writer.
#[derive(Default)]
struct WriterLog {
    /// Number of proposed bids.
    proposed: i64,
    /// Number of settled bids, the first of the proposed ones.
    settled: i64,
    /// Users and their attendances.
    joined: Vec<(i64, i64)>,
}

/// Proposes and settles until the store fails; returns the confirmed writes.
async fn write_until_it_fails(store: Arc<dyn Events>, auction: i64, answered: Arc<AtomicU32>) -> WriterLog {
    let mut told = WriterLog::default();
    loop {
        let next = bid(auction, told.proposed + 1);
        let last: Vec<SettledBid> =
            (told.proposed > told.settled).then(|| high(&bid(auction, told.proposed))).into_iter().collect();
        match store.write(std::slice::from_ref(&next), &last).await {
            Ok(()) => {
                told.settled = told.proposed;
                told.proposed += 1;
                answered.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => {
                assert!(error.is_passing(), "{error:?}");
                return told;
            }
        }
        match store.join(visit(auction, told.proposed)).await {
            Ok(record) => told.joined.push((record.user_id.0, record.id)),
            Err(error) => {
                assert!(error.is_passing(), "{error:?}");
                return told;
            }
        }
    }
}

/// Retries until the store has recovered.
async fn in_the_end<T>(act: impl AsyncFn() -> Result<T, StoreError>) -> T {
    let again = async {
        loop {
            match act().await {
                Ok(value) => return value,
                Err(error) => assert!(error.is_passing(), "{error:?}"),
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, again).await.expect("the store is not well again")
}

async fn loaded(url: &str) -> Arc<dyn Events> {
    contract::load(documents::load(url).await.unwrap(), Vec::new()).await.unwrap();
    documents::open(url, 4).await.unwrap()
}

fn survives(mut service: Service) {
    let url = service.url().to_owned();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(loaded(&url));
    let answered = Arc::new(AtomicU32::new(0));
    let writers: Vec<_> = (1..=WRITERS)
        .map(|auction| {
            runtime.spawn(write_until_it_fails(Arc::clone(&store), auction, Arc::clone(&answered)))
        })
        .collect();
    runtime.block_on(async {
        let enough = async {
            while answered.load(Ordering::SeqCst) < BEFORE {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, enough).await.expect("writes are answered");
    });
    service.kill();
    let told: Vec<WriterLog> = runtime.block_on(async {
        let ended = futures::future::join_all(writers);
        tokio::time::timeout(DEADLINE, ended)
            .await
            .expect("writers notice")
            .into_iter()
            .map(Result::unwrap)
            .collect()
    });
    assert!(runtime.block_on(store.ping()).unwrap_err().is_passing());
    service.restart();
    runtime.block_on(async {
        in_the_end(async || store.ping().await).await;
        for (told, auction) in told.iter().zip(1..) {
            check(&*store, auction, told).await;
        }
        assert_eq!(in_the_end(async || store.double_attendance().await).await, []);
    });
}

async fn check(store: &dyn Events, auction: i64, told: &WriterLog) {
    let states = async || {
        let all = store.run_bids().await?;
        Ok(all
            .into_iter()
            .filter(|bid| bid.auction_id == auction)
            .map(|bid| (bid.sequence, bid.state))
            .collect::<Vec<_>>())
    };
    let there = in_the_end(states).await;
    for at in 1..=told.proposed {
        let state = there.iter().find(|(sequence, _)| *sequence == at).map(|(_, state)| *state);
        assert!(state.is_some(), "bid {at} of auction {auction} was answered and is lost");
        assert!(at > told.settled || state == Some(codes::bid::HIGH), "the settlement of bid {at} is lost");
    }
    // The failed one may exist or not; after its repetition, and that of all before it, everything exists
    // once.
    let bids: Vec<BidRow> = (1..=told.proposed + 1).map(|at| bid(auction, at)).collect();
    let settled: Vec<SettledBid> = bids[..bids.len() - 1].iter().map(high).collect();
    in_the_end(async || store.write(&bids, &settled).await).await;
    let there = in_the_end(states).await;
    let mut expected: Vec<(i64, i64)> = (1..=told.proposed).map(|at| (at, codes::bid::HIGH)).collect();
    expected.push((told.proposed + 1, codes::bid::PROPOSED));
    assert_eq!(there, expected);
    let unsettled = in_the_end(async || store.unsettled(AuctionId(auction)).await).await;
    assert_eq!(unsettled, bids[bids.len() - 1..]);
    for (user, id) in &told.joined {
        let shown = in_the_end(async || store.user_attendance(UserId(*user), ALL).await).await;
        assert!(
            shown.items.iter().any(|record| record.id == *id),
            "attendance {id} was answered and is lost"
        );
    }
    // A user who joined, or tried to when the server died, is present once after joining again.
    for user in 1..=BIDDERS {
        let again = AttendanceRow { user_id: user, ..visit(auction, 90_000 + user) };
        let joined = in_the_end(async || store.join(again.clone()).await).await;
        let shown = in_the_end(async || store.user_attendance(UserId(user), ALL).await).await;
        let there: Vec<i64> = shown
            .items
            .iter()
            .filter(|record| record.auction_id.0 == auction)
            .map(|record| record.id)
            .collect();
        assert_eq!(there, [joined.id]);
    }
}

#[test]
fn postgresql_json_survives_the_death_of_its_server() {
    let Some(postgres) = services::or_skip(services::postgres()) else { return };
    survives(postgres);
}

#[test]
fn the_mongodb_protocol_survives_the_death_of_its_server() {
    let Some(ferretdb) = services::or_skip(services::ferretdb()) else { return };
    survives(ferretdb);
}

/// Two stores on one server, as in two nodes: confirmed writes of either exist, and each sees them.
async fn two_nodes(url: &str) {
    let first = loaded(url).await;
    let second = documents::open(url, 4).await.unwrap();
    let write = async |store: &dyn Events, auction: i64| {
        for at in 1..=30 {
            let next = bid(auction, at);
            store.write(std::slice::from_ref(&next), &[]).await.unwrap();
            store.join(visit(auction, at)).await.unwrap();
            store.write(&[], &[high(&next)]).await.unwrap();
        }
    };
    tokio::join!(write(&*first, 1), write(&*second, 2));
    for store in [&first, &second] {
        assert_eq!(store.run_bids().await.unwrap().len(), 60);
        assert!(store.run_bids().await.unwrap().iter().all(|bid| bid.state == codes::bid::HIGH));
        let histories =
            futures::future::join_all((1..=BIDDERS).map(|user| store.user_bids(UserId(user), ALL))).await;
        assert_eq!(histories.into_iter().map(|page| page.unwrap().items.len()).sum::<usize>(), 60);
        let visits =
            futures::future::join_all((1..=BIDDERS).map(|user| store.user_attendance(UserId(user), ALL)))
                .await;
        assert_eq!(visits.into_iter().map(|page| page.unwrap().items.len()).sum::<usize>(), 14);
    }
    // The new owner of the auction finds the other node's bids and settles them.
    let left = bid(1, 31);
    first.write(std::slice::from_ref(&left), &[]).await.unwrap();
    assert_eq!(second.unsettled(AuctionId(1)).await.unwrap(), std::slice::from_ref(&left));
    second.write(&[], &[SettledBid { state: codes::bid::VOID, ..high(&left) }]).await.unwrap();
    assert_eq!(first.unsettled(AuctionId(1)).await.unwrap(), []);
    // Concurrent joins through both leave one record, which either may end.
    let (a, b) = tokio::join!(first.join(visit(9, 1)), second.join(visit(9, 8)));
    assert_eq!(a.unwrap(), b.unwrap());
    let (a, b) =
        tokio::join!(first.leave(UserId(2), Some(AuctionId(9))), second.leave(UserId(2), Some(AuctionId(9))));
    assert_eq!(a.unwrap() + b.unwrap(), 1);
    assert_eq!(first.double_attendance().await.unwrap(), []);
}

#[test]
fn two_nodes_lose_nothing_of_each_other() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(postgres) = services::or_skip(services::postgres()) {
        runtime.block_on(two_nodes(postgres.url()));
    }
    if let Some(ferretdb) = services::or_skip(services::ferretdb()) {
        runtime.block_on(two_nodes(ferretdb.url()));
    }
}
