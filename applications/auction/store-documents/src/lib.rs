//! The event store of the auction application as documents: PostgreSQL JSON, and the MongoDB protocol.
//!
//! Both implement [`Events`] and loading for it, and are chosen by the scheme of the address. Neither keeps anything
//! relational: a user's histories are found by the user, an item's images by the item, and an auction's unsettled bids
//! by the auction. Nothing here needs a transaction that spans documents.
//!
//! | | PostgreSQL JSON | MongoDB protocol |
//! |---|---|---|
//! | where | schema `auction_events` of the database in the address | the database in the address, else `auction_events` |
//! | a bid | a row with its key columns and a JSONB document | an entry of its bidder's document |
//! | limits | none in practice | 16 MB per document: about 90,000 bids of one bidder in one run |
//!
//! The module `mongo` explains the choice of documents. Several addresses, separated by spaces, are the shards of one
//! store; the servers need not know each other.

mod documents;
mod failure;
mod histories;
mod mongo;
mod postgres;
mod shards;

use std::sync::Arc;

use barograph_auction_store::{EventBatch, Events, Loading, StoreError};

use failure::refused;
use futures::future::try_join_all;
use mongo::Mongo;
use postgres::Postgres;
use shards::{ShardLoads, Shards, common_stamp};

/// Version of the form of documents and rows. It rises if the same data set would be loaded differently.
const FORMAT: u32 = 1;

/// Description of the form in which a load leaves its documents: equal texts mean equal stores.
#[must_use]
pub fn form() -> String {
    format!("format {FORMAT}\n{}", postgres::form())
}

/// The product of an address.
enum Product {
    Mongo,
    Postgres,
}

/// Opens a loaded store, with at most `connections` connections (at least one) to each server.
///
/// # Errors
/// If a server cannot be reached, holds no loaded data set, or the address is of another product.
pub async fn open(urls: &str, connections: usize) -> Result<Arc<dyn Events>, StoreError> {
    let connections = connections.max(1);
    let mut shards = try_join_all(each(urls).map(|url| open_one(url, connections))).await?;
    Ok(if shards.len() == 1 { shards.remove(0) } else { Arc::new(Shards(shards)) })
}

async fn open_one(url: &str, connections: usize) -> Result<Arc<dyn Events>, StoreError> {
    Ok(match product(url)? {
        Product::Mongo => Arc::new(Mongo::open(url, connections).await?),
        Product::Postgres => Arc::new(Postgres::open(url, connections).await?),
    })
}

/// Empties the store, prepares it, and takes rows. Until the loading is finished [`open`] refuses the store.
///
/// # Errors
/// If a server cannot be reached or refuses, or the address is of another product.
pub async fn load(urls: &str) -> Result<Box<dyn Loading<EventBatch>>, StoreError> {
    let mut shards = try_join_all(each(urls).map(load_one)).await?;
    Ok(if shards.len() == 1 { shards.remove(0) } else { Box::new(ShardLoads(shards)) })
}

async fn load_one(url: &str) -> Result<Box<dyn Loading<EventBatch>>, StoreError> {
    Ok(match product(url)? {
        Product::Mongo => Box::new(mongo::Load::start(url).await?),
        Product::Postgres => Box::new(postgres::Load::start(url).await?),
    })
}

/// The name of the loaded data set, as given when the loading was finished.
///
/// # Errors
/// Those of [`open`], and if the servers hold shards of different stores.
pub async fn stamp(urls: &str) -> Result<String, StoreError> {
    let mut stamps = try_join_all(each(urls).map(stamp_of_one)).await?;
    if stamps.len() == 1 { Ok(stamps.remove(0)) } else { common_stamp(&stamps) }
}

async fn stamp_of_one(url: &str) -> Result<String, StoreError> {
    match product(url)? {
        Product::Mongo => mongo::stamp(url).await,
        Product::Postgres => postgres::stamp(url).await,
    }
}

/// The addresses of all shards; an empty text is one address, which is refused.
fn each(urls: &str) -> impl Iterator<Item = &str> {
    let is_empty = urls.trim().is_empty();
    urls.split_whitespace().chain(is_empty.then_some(""))
}

/// The product of an address. Addresses hold passwords, so an unknown one is not repeated in the error.
fn product(url: &str) -> Result<Product, StoreError> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("mongodb" | "mongodb+srv") => Ok(Product::Mongo),
        Some("postgres" | "postgresql") => Ok(Product::Postgres),
        _ => Err(refused(
            "the document store",
            "read its address",
            "it begins with none of mongodb://, postgres://",
        )),
    }
}
