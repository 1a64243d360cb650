//! The contract, on both servers.

use std::sync::Arc;

use barograph_auction_store::contract;
use barograph_store_sql::{load, open};
use barograph_test_services::{self as services, MissingRequirement, Service};

/// Connections of a store in these tests: some cases have several concurrent callers.
const CONNECTIONS: usize = 4;

async fn everything(server: Result<Service, MissingRequirement>) {
    let Some(server) = services::or_skip(server) else { return };
    let url = server.url();
    let opened = async || Ok(Arc::new(open(url, CONNECTIONS).await?));
    contract::relational(async || load(url).await, opened).await;
    contract::registry(async || load(url).await, opened).await;
    contract::replaced(async || load(url).await, opened).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_keeps_the_contract() {
    everything(services::postgres()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_keeps_the_contract() {
    everything(services::mariadb()).await;
}
