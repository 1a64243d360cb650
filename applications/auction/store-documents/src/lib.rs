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
//! The module `mongo` explains the choice of documents.

mod documents;
mod failure;
mod histories;
mod mongo;
mod postgres;

use std::sync::Arc;

use barograph_auction_store::{EventBatch, Events, Loading, StoreError};

use failure::refused;
use mongo::Mongo;
use postgres::Postgres;

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

/// Opens a loaded store, with at most `connections` connections (at least one).
///
/// # Errors
/// If the server cannot be reached, holds no loaded data set, or the address is of another product.
pub async fn open(url: &str, connections: usize) -> Result<Arc<dyn Events>, StoreError> {
    let connections = connections.max(1);
    Ok(match product(url)? {
        Product::Mongo => Arc::new(Mongo::open(url, connections).await?),
        Product::Postgres => Arc::new(Postgres::open(url, connections).await?),
    })
}

/// Empties the store, prepares it, and takes rows. Until the loading is finished [`open`] refuses the store.
///
/// # Errors
/// If the server cannot be reached or refuses, or the address is of another product.
pub async fn load(url: &str) -> Result<Box<dyn Loading<EventBatch>>, StoreError> {
    Ok(match product(url)? {
        Product::Mongo => Box::new(mongo::Load::start(url).await?),
        Product::Postgres => Box::new(postgres::Load::start(url).await?),
    })
}

/// The name of the loaded data set, as given when the loading was finished.
///
/// # Errors
/// Those of [`open`].
pub async fn stamp(url: &str) -> Result<String, StoreError> {
    match product(url)? {
        Product::Mongo => mongo::stamp(url).await,
        Product::Postgres => postgres::stamp(url).await,
    }
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
