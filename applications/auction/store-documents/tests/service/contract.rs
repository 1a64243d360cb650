//! Both forms of the event store fulfil the contract, on real servers.

use barograph_auction_store::{EventBatch, StoreError, contract};
use barograph_store_documents as documents;
use barograph_test_services as services;

/// Connections of an opened store: more than one, so that concurrent calls meet in the server.
const CONNECTIONS: usize = 4;

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(test);
}

#[test]
fn postgresql_json_keeps_the_contract() {
    let Some(postgres) = services::or_skip(services::postgres()) else { return };
    block_on(contract::events(
        async || documents::load(postgres.url()).await,
        async || documents::open(postgres.url(), CONNECTIONS).await,
    ));
}

#[test]
fn the_mongodb_protocol_keeps_the_contract() {
    let Some(ferretdb) = services::or_skip(services::ferretdb()) else { return };
    block_on(contract::events(
        async || documents::load(ferretdb.url()).await,
        async || documents::open(ferretdb.url(), CONNECTIONS).await,
    ));
}

/// URLs of two shards.
fn shards(servers: &[services::Service; 2]) -> String {
    servers.each_ref().map(services::Service::url).join(" ")
}

fn two_of_ferretdb() -> Option<[services::Service; 2]> {
    Some([services::or_skip(services::ferretdb())?, services::or_skip(services::ferretdb())?])
}

#[test]
fn shards_keep_the_contract() {
    let Some(servers) = two_of_ferretdb() else { return };
    let urls = shards(&servers);
    block_on(contract::events(
        async || documents::load(&urls).await,
        async || documents::open(&urls, CONNECTIONS).await,
    ));
}

#[test]
fn shards_are_opened_together_or_not_at_all() {
    let Some(servers) = two_of_ferretdb() else { return };
    block_on(async {
        let urls = shards(&servers);
        documents::load(&urls).await.unwrap().finish("one").await.unwrap();
        assert_eq!(documents::stamp(&urls).await.unwrap(), "one");
        assert_eq!(documents::stamp(servers[0].url()).await.unwrap(), "one, shard 1 of 2");
        let swapped = format!("{} {}", servers[1].url(), servers[0].url());
        let StoreError::Refused { source, .. } = documents::stamp(&swapped).await.unwrap_err() else {
            panic!("shards in another order were opened")
        };
        assert_eq!(source.to_string(), "it holds `one, shard 2 of 2` where shard 1 of 2 belongs");
    });
}

/// Only loaded stores can be opened, and a finished loading has its stamp.
async fn opens_only_what_was_loaded(url: &str) {
    let never = documents::open(url, 1).await.err().unwrap();
    assert!(
        matches!(&never, StoreError::Refused { source, .. } if source.to_string().contains("no data set"))
    );
    let mut loading = documents::load(url).await.unwrap();
    loading.add(EventBatch::default()).await.unwrap();
    let unfinished = documents::stamp(url).await.unwrap_err();
    assert!(matches!(unfinished, StoreError::Refused { .. }), "{unfinished:?}");
    loading.finish("one").await.unwrap();
    assert_eq!(documents::stamp(url).await.unwrap(), "one");
    let store = documents::open(url, 1).await.unwrap();
    assert!(store.describe().product.contains(" 1"), "{:?}", store.describe());
    let again = documents::load(url).await.unwrap();
    assert!(
        documents::open(url, 1).await.is_err(),
        "a store that is being loaded anew is not open to anybody"
    );
    again.finish("two").await.unwrap();
    assert_eq!(documents::stamp(url).await.unwrap(), "two");
}

#[test]
fn what_was_not_loaded_is_not_opened() {
    if let Some(postgres) = services::or_skip(services::postgres()) {
        block_on(opens_only_what_was_loaded(postgres.url()));
    }
    if let Some(ferretdb) = services::or_skip(services::ferretdb()) {
        block_on(opens_only_what_was_loaded(ferretdb.url()));
    }
    if let Some(servers) = two_of_ferretdb() {
        block_on(opens_only_what_was_loaded(&shards(&servers)));
    }
}
