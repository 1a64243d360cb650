//! One seeded run of several auctions ends in the same state on all stores.

use std::sync::Arc;

use barograph_auction_store::contract::{self, Digest};
use barograph_auction_store::{EventBatch, Events, Loading, RelationalBatch, StoreError};
use barograph_test_services as services;

/// Seed of all choices of the run.
const SEED: u64 = 20_301_202;

/// Loads both stores with the contract's data.
async fn load(
    relational: Result<Box<dyn Loading<RelationalBatch>>, StoreError>,
    events: Result<Box<dyn Loading<EventBatch>>, StoreError>,
) {
    contract::load(relational.unwrap(), contract::relational_data()).await.unwrap();
    contract::load(events.unwrap(), contract::event_data()).await.unwrap();
}

async fn embedded() -> Digest {
    let dir = tempfile::tempdir().unwrap();
    let files = barograph_store_sqlite::Files::in_folder(dir.path());
    load(
        Ok(Box::new(barograph_store_sqlite::RelationalFile::create(&files.relational).unwrap())),
        Ok(Box::new(barograph_store_sqlite::EventFile::create(&files.events).unwrap())),
    )
    .await;
    let (store, threads) = barograph_store_sqlite::open(dir.path(), 2).unwrap();
    let digest = contract::seeded_run(&*store, &*store, SEED).await;
    drop(store);
    threads.join();
    digest
}

async fn on_servers(relational: &str, events: &str) -> Digest {
    load(barograph_store_sql::load(relational).await, barograph_store_documents::load(events).await).await;
    let store = barograph_store_sql::open(relational, 4).await.unwrap();
    let events: Arc<dyn Events> = barograph_store_documents::open(events, 4).await.unwrap();
    contract::seeded_run(&store, &*events, SEED).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seeded_run_ends_the_same_on_all_stores() {
    let expected = embedded().await;
    assert_eq!(embedded().await, expected, "the run itself repeats");
    let postgres = services::or_skip(services::postgres());
    let mariadb = services::or_skip(services::mariadb());
    let ferretdb = services::or_skip(services::ferretdb());
    if let Some(postgres) = &postgres {
        assert_eq!(on_servers(postgres.url(), postgres.url()).await, expected, "PostgreSQL, its JSON");
    }
    if let (Some(mariadb), Some(ferretdb)) = (&mariadb, &ferretdb) {
        assert_eq!(on_servers(mariadb.url(), ferretdb.url()).await, expected, "MariaDB, MongoDB protocol");
    }
}
