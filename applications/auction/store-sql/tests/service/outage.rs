//! The server is killed amid changes and started again: confirmed changes persist, open ones can be repeated,
//! and the store recovers by itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{self, CREDIT_CENTS, PATIENCE, PRICE_CENTS};
use barograph_auction_api::{AuctionId, ItemId};
use barograph_auction_store::{ChangeOutcome, Relational, StoreError};
use barograph_store_sql::{Sql, open};
use barograph_test_services::{self as services, MissingRequirement, Service};

/// Number of kills.
const KILLS: usize = 3;

/// Sales between two kills, of all owners together.
const BETWEEN: usize = 60;

/// Progress of the owners.
#[derive(Default)]
struct Progress {
    sales: AtomicUsize,
    unknown: AtomicUsize,
    unreachable: AtomicUsize,
    stop: AtomicBool,
}

/// Applies sales until stopped, each with retries; returns their listings.
async fn sells(store: Sql, progress: Arc<Progress>, on: ((AuctionId, ItemId), i64)) -> Vec<i64> {
    let (auction, fence) = on;
    let mut listings = Vec::new();
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    for round in 1_000.. {
        if progress.stop.load(Ordering::SeqCst) {
            break;
        }
        let changes = common::sale(auction, round, fence);
        loop {
            match store.apply(&changes).await {
                Ok(answers) => {
                    assert_eq!(answers, [ChangeOutcome::Stored; 4]);
                    break;
                }
                Err(StoreError::Unknown { .. }) => progress.unknown.fetch_add(1, Ordering::SeqCst),
                Err(StoreError::Unreachable { .. }) => progress.unreachable.fetch_add(1, Ordering::SeqCst),
                Err(other) => panic!("{other:?}"),
            };
            ticks.tick().await;
        }
        listings.push(changes[0].listing);
        progress.sales.fetch_add(1, Ordering::SeqCst);
    }
    listings
}

/// Waits until the server answers again. A ping has a time limit of two seconds, which a server that has just
/// started on a busy machine may exceed.
async fn until_it_answers(store: &Sql) {
    let answered = async {
        while let Err(error) = store.ping().await {
            let late = matches!(&error, StoreError::Unreachable { source, .. }
                if source.to_string().contains("did not answer within"));
            assert!(late, "{error:?}");
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("it finds back by itself");
}

async fn survives(server: Result<Service, MissingRequirement>) {
    let Some(mut server) = services::or_skip(server) else { return };
    common::loaded(server.url()).await;
    let store = open(server.url(), 4).await.unwrap();
    common::enlisted(&store, "one").await;
    let progress = Arc::<Progress>::default();
    let mut tasks = Vec::new();
    for auction in common::running(&store).await {
        let fence = common::handed_over((&store, "one"), (&store, "one"), auction.0).await;
        tasks.push(tokio::spawn(sells(store.clone(), Arc::clone(&progress), (auction, fence))));
    }
    for kill in 1..=KILLS {
        common::until("sales", || progress.sales.load(Ordering::SeqCst) >= kill * BETWEEN).await;
        tokio::task::block_in_place(|| server.kill());
        let ping = store.ping().await;
        assert!(matches!(ping, Err(StoreError::Unreachable { .. })), "it says so: {ping:?}");
        tokio::task::block_in_place(|| server.restart());
        until_it_answers(&store).await;
    }
    common::until("sales", || progress.sales.load(Ordering::SeqCst) >= (KILLS + 1) * BETWEEN).await;
    progress.stop.store(true, Ordering::SeqCst);
    let mut sold = BTreeSet::new();
    for task in tasks {
        sold.extend(task.await.unwrap());
    }
    let offers = store.audit().await.unwrap().offers;
    let there: BTreeSet<i64> = offers.iter().filter(|o| !o.preloaded).map(|o| o.row.id).collect();
    assert_eq!(there, sold, "every sale is there");
    let buyer = store.user(common::buyer()).await.unwrap().expect("the buyer is there");
    let paid = i64::try_from(sold.len()).unwrap() * PRICE_CENTS;
    assert_eq!(buyer.user.credit_cents, CREDIT_CENTS - paid, "and was paid once");
    assert!(progress.unreachable.load(Ordering::SeqCst) > 0, "the owners have met the outage");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_keeps_what_it_answered() {
    survives(services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mariadb_keeps_what_it_answered() {
    survives(services::mariadb()).await;
}
