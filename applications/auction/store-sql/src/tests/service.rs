//! A process that is stopped between the locks and the commit of a change does not bar its auctions for long.

use barograph_auction_api::AuctionId;
use barograph_auction_store::{Heartbeat, Registry, Standing, contract};
use barograph_test_services::{self as services, MissingRequirement, Service};

use crate::apply::LOCK_FENCES;
use crate::fault::Fault;
use crate::sql::exchange;
use crate::value::{Statement, values};
use crate::{load, open};

async fn released(server: Result<Service, MissingRequirement>) {
    let Some(server) = services::or_skip(server) else { return };
    contract::load(load(server.url()).await.unwrap(), contract::relational_data()).await.unwrap();
    let store = open(server.url(), 2).await.unwrap();
    let auction = store.assignments().await.unwrap()[0].auction;
    let beat = Heartbeat { node: "one".to_owned(), standing: Standing::Active, lease_ms: 600_000 };
    store.enlist(&beat).await.unwrap();
    store.beat(&beat).await.unwrap();
    store.assign("one", &[(auction, "one".to_owned())]).await.unwrap();

    let mut stopped = store.inner().pool.take().await.unwrap();
    let lock = Statement::new(LOCK_FENCES, values![vec![auction.0]]);
    exchange(&mut stopped, &[&Statement::plain("BEGIN"), &lock]).await.unwrap();
    let AuctionId(id) = auction;
    let claimed =
        store.claim("one", &[auction]).await.expect("the server ends the transaction that stands open");
    assert_eq!(claimed, [(AuctionId(id), 1)]);
    let commit = exchange(&mut stopped, &[&Statement::plain("COMMIT")]).await;
    assert!(
        matches!(commit.map(drop), Err(Fault::Lost(_))),
        "whoever goes on learns that nothing is certain"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_frees_the_auctions_of_a_stopped_owner() {
    released(services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_frees_the_auctions_of_a_stopped_owner() {
    released(services::mariadb()).await;
}
