//! Two owners of one auction without knowledge of each other's claims: nothing of a fenced change is in the
//! store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{self, CREDIT_CENTS, PATIENCE, PRICE_CENTS};
use barograph_auction_api::{AuctionId, ItemId};
use barograph_auction_store::{Change, ChangeOutcome, HighBidRow, Relational, StoreError, codes};
use barograph_store_sql::{Sql, open};
use barograph_test_services::{self as services, MissingRequirement, Service};

/// Number of changes of the owner.
const CLAIMS: i64 = 30;

/// Applications that must have succeeded under a fence before the next claim.
const BETWEEN: usize = 3;

/// State of an owner: its fence, which may be old, and its answers.
#[derive(Default)]
struct Owner {
    fence: AtomicI64,
    stored: AtomicUsize,
    stop: AtomicBool,
}

/// Answers of the store to changes, retried until known: a process that stands still between its locks and
/// its commit loses them. If the first attempt was carried out, the repetition is harmless: applied changes
/// are answered as stored under any owner (a rule of the contract), so a fenced answer means that the change
/// is not there.
async fn answered(store: &Sql, changes: &[Change]) -> Vec<ChangeOutcome> {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let answers = async {
        loop {
            ticks.tick().await;
            match store.apply(changes).await {
                Err(StoreError::Unknown { .. } | StoreError::Unreachable { .. }) => {}
                other => return other.unwrap(),
            }
        }
    };
    let answers = tokio::time::timeout(PATIENCE, answers).await;
    answers.unwrap_or_else(|_| panic!("listing {} was not answered in time", changes[0].listing))
}

/// Applies sales one after the other, under the latest known fence; returns the stored and the fenced ones.
async fn applies(store: Sql, owner: Arc<Owner>, on: ((AuctionId, ItemId), i64)) -> [Vec<i64>; 2] {
    let (auction, first_round) = on;
    let [mut stored, mut fenced] = [Vec::new(), Vec::new()];
    for round in first_round.. {
        if owner.stop.load(Ordering::SeqCst) {
            break;
        }
        let changes = common::sale(auction, round, owner.fence.load(Ordering::SeqCst));
        let answers = answered(&store, &changes).await;
        if answers == [ChangeOutcome::Stored; 4] {
            stored.push(changes[0].listing);
            owner.stored.fetch_add(1, Ordering::SeqCst);
        } else {
            assert_eq!(answers, [ChangeOutcome::Fenced; 4], "all or nothing of one auction");
            fenced.push(changes[0].listing);
        }
    }
    [stored, fenced]
}

/// Listings of this run by id.
async fn listings(store: &Sql) -> BTreeMap<i64, HighBidRow> {
    let offers = store.audit().await.unwrap().offers;
    offers.into_iter().filter(|offer| !offer.preloaded).map(|offer| (offer.row.id, offer.row)).collect()
}

async fn fenced(server: Result<Service, MissingRequirement>) {
    let Some(server) = services::or_skip(server) else { return };
    common::loaded(server.url()).await;
    let stores = [open(server.url(), 2).await.unwrap(), open(server.url(), 2).await.unwrap()];
    let names = ["one", "two"];
    common::enlisted(&stores[0], names[0]).await;
    common::enlisted(&stores[1], names[1]).await;
    let auction = common::running(&stores[0]).await[0];
    let owners: [Arc<Owner>; 2] = std::array::from_fn(|_| Arc::default());
    let starts = [1_000, 100_000_000];
    let tasks: Vec<_> = (0..2)
        .map(|n| tokio::spawn(applies(stores[n].clone(), Arc::clone(&owners[n]), (auction, starts[n]))))
        .collect();
    let mut seen: Vec<(i64, BTreeMap<i64, HighBidRow>)> = Vec::new();
    for claim in 0..CLAIMS {
        let n = usize::from(claim % 2 == 1);
        let fence = common::handed_over((&stores[0], names[0]), (&stores[n], names[n]), auction.0).await;
        let old = listings(&stores[n]).await.into_iter().filter(|(_, row)| row.fence < fence).collect();
        seen.push((fence, old));
        owners[n].fence.store(fence, Ordering::SeqCst);
        let before = owners[n].stored.load(Ordering::SeqCst);
        common::until("sales", || owners[n].stored.load(Ordering::SeqCst) >= before + BETWEEN).await;
    }
    owners.iter().for_each(|owner| owner.stop.store(true, Ordering::SeqCst));
    let end = {
        let mut end = [Vec::new(), Vec::new()];
        for task in tasks {
            let [stored, fenced] = task.await.unwrap();
            end[0].extend(stored);
            end[1].extend(fenced);
        }
        end
    };
    let last = listings(&stores[0]).await;
    for (fence, old) in seen {
        let now: BTreeMap<_, _> = last.clone().into_iter().filter(|(_, row)| row.fence < fence).collect();
        assert_eq!(now, old, "nothing was written under an old fence once the claim of {fence} had returned");
    }
    let [mut stored, fenced] = end;
    stored.sort_unstable();
    assert_eq!(
        last.keys().copied().collect::<Vec<_>>(),
        stored,
        "what was answered as stored, and nothing else"
    );
    assert!(!fenced.is_empty(), "the test has seen somebody fenced");
    assert!(last.values().all(|row| row.state == codes::high_bid::SOLD));
    let buyer = stores[0].user(common::buyer()).await.unwrap().expect("the buyer is there");
    let paid = i64::try_from(stored.len()).unwrap() * PRICE_CENTS;
    assert_eq!(buyer.user.credit_cents, CREDIT_CENTS - paid, "every sale is paid once, and no other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_takes_nothing_under_an_old_fence() {
    fenced(services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_takes_nothing_under_an_old_fence() {
    fenced(services::mariadb()).await;
}
