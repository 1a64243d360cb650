//! Contract tests of the store traits, for use by every implementation.
//!
//! A suite makes a small data set, loads it through [`Loading`], opens the store and checks every guarantee
//! of the traits. It panics on a violation, like a test. Faults specific to one product (death of its server,
//! its settings) are not covered here.

mod applies;
mod attendance;
mod auctions;
mod bids;
mod data;
mod digest;
mod fences;
mod images;
mod items;
mod model;
mod random;
mod registry;
mod search;
mod track;
mod users;

pub use data::{event_data, relational_data};
pub use digest::Digest;
pub use random::seeded_run;

use std::sync::Arc;

use barograph_auction_api::{AuctionId, Page};

use crate::{
    Batch, EventBatch, Events, Heartbeat, LeaderState, Loading, PageWindow, Registry, Relational,
    RelationalBatch, Standing, StoreError,
};

/// Stamp of the loaded data set.
const STAMP: &str = "contract";

/// A lease that outlasts every test.
const LONG_MS: i64 = 600_000;

/// A page that holds the whole small data set.
const ALL: PageWindow = PageWindow { page: 0, size: 1000 };

/// Loads batches and finishes. Errors are those of the store.
pub async fn load<B: Batch>(mut loading: Box<dyn Loading<B>>, batches: Vec<B>) -> Result<(), StoreError> {
    for batch in batches {
        loading.add(batch).await?;
    }
    loading.finish(STAMP).await
}

/// Tests all guarantees of a relational store. `empty` makes the store anew for loading, `open` opens the
/// loaded store; both are called once per case, one case after the other.
///
/// # Panics
/// On any violation.
pub async fn relational<S: Relational + Registry + ?Sized>(
    empty: impl AsyncFn() -> Result<Box<dyn Loading<RelationalBatch>>, StoreError>,
    open: impl AsyncFn() -> Result<Arc<S>, StoreError>,
) {
    let fresh = async || {
        load(empty().await.unwrap(), relational_data()).await.unwrap();
        open().await.unwrap()
    };
    users::profiles(&*fresh().await).await;
    users::tokens(&*fresh().await).await;
    users::removal(&*fresh().await).await;
    auctions::lists(&*fresh().await).await;
    auctions::starting(&*fresh().await).await;
    auctions::running(&*fresh().await).await;
    items::lists(&*fresh().await).await;
    items::changes(&*fresh().await).await;
    items::purchases(&*fresh().await).await;
    search::words(&*fresh().await).await;
    search::filters(&*fresh().await).await;
    applies::every_kind(&*fresh().await).await;
    applies::repeated(&*fresh().await).await;
    applies::unpaid(&*fresh().await).await;
    applies::at_the_same_time(&*fresh().await).await;
    applies::large(&*fresh().await).await;
    fences::stale(&*fresh().await).await;
    fences::raised_in_between(&*fresh().await).await;
    users::stay(&*fresh().await, &open).await;
}

/// Tests all guarantees of an event store; see [`relational`] for the arguments.
///
/// # Panics
/// On any violation.
pub async fn events<S: Events + ?Sized>(
    empty: impl AsyncFn() -> Result<Box<dyn Loading<EventBatch>>, StoreError>,
    open: impl AsyncFn() -> Result<Arc<S>, StoreError>,
) {
    let fresh = async || {
        load(empty().await.unwrap(), event_data()).await.unwrap();
        open().await.unwrap()
    };
    bids::histories(&*fresh().await).await;
    bids::settling(&*fresh().await).await;
    bids::repeated(&*fresh().await).await;
    bids::of_the_run(&*fresh().await).await;
    attendance::joining(&*fresh().await).await;
    attendance::leaving(&*fresh().await).await;
    attendance::histories(&*fresh().await).await;
    attendance::at_the_same_time(&*fresh().await).await;
    images::listed(&*fresh().await).await;
    images::added(&*fresh().await).await;
    bids::stay(&*fresh().await, &open).await;
}

/// Tests all guarantees of a register of nodes, with one opened store used by all nodes; see [`relational`]
/// for the arguments.
///
/// # Panics
/// On any violation.
pub async fn registry<S: Relational + Registry + ?Sized>(
    empty: impl AsyncFn() -> Result<Box<dyn Loading<RelationalBatch>>, StoreError>,
    open: impl AsyncFn() -> Result<Arc<S>, StoreError>,
) {
    let fresh = async || {
        load(empty().await.unwrap(), relational_data()).await.unwrap();
        open().await.unwrap()
    };
    registry::enlisting(&*fresh().await).await;
    registry::leading(&*fresh().await).await;
    registry::expiring(&*fresh().await).await;
    registry::assigning(&*fresh().await).await;
    registry::claiming(&*fresh().await).await;
    registry::leaving(&*fresh().await).await;
    registry::versions(&*fresh().await).await;
    registry::same_name(&*fresh().await).await;
}

/// Tests that a node replaced by another process of the same name notices: for stores opened by several
/// processes. See [`relational`] for the arguments.
///
/// # Panics
/// On any violation.
pub async fn replaced<S: Relational + Registry + ?Sized>(
    empty: impl AsyncFn() -> Result<Box<dyn Loading<RelationalBatch>>, StoreError>,
    open: impl AsyncFn() -> Result<Arc<S>, StoreError>,
) {
    load(empty().await.unwrap(), relational_data()).await.unwrap();
    let (first, second) = (open().await.unwrap(), open().await.unwrap());
    registry::replaced(&*first, &*second).await;
}

/// A beat of an active node.
fn beat(node: &str, lease_ms: i64) -> Heartbeat {
    Heartbeat { node: node.to_owned(), standing: Standing::Active, lease_ms }
}

/// Makes `node` the owner of auctions; returns their fences in the order of the auctions. The previous leader
/// leaves.
async fn own<S: Registry + ?Sized>(store: &S, node: &str, auctions: &[i64]) -> Vec<i64> {
    let me = beat(node, LONG_MS);
    store.enlist(&me).await.unwrap();
    let mut cluster = store.beat(&me).await.unwrap();
    if let Some(other) = cluster.leader.filter(|l| l != node) {
        store.leave(&other).await.unwrap();
        cluster = store.beat(&me).await.unwrap();
        assert_eq!(cluster.leader.as_deref(), Some(node), "the lead is free once the leader left");
    }
    let moves: Vec<_> = auctions.iter().map(|a| (AuctionId(*a), node.to_owned())).collect();
    assert_eq!(store.assign(node, &moves).await.unwrap(), LeaderState::Yes);
    let ids: Vec<_> = auctions.iter().map(|a| AuctionId(*a)).collect();
    let claimed = store.claim(node, &ids).await.unwrap();
    assert_eq!(
        claimed.iter().map(|c| c.0).collect::<Vec<_>>(),
        ids,
        "every assigned auction is claimed, by id"
    );
    claimed.into_iter().map(|c| c.1).collect()
}

/// Reads a list in pages of `size` and returns all entries; the pages must match each other and the total.
async fn in_pages<T, F>(size: u32, mut page: F) -> Vec<T>
where
    F: AsyncFnMut(PageWindow) -> Result<Page<T>, StoreError>,
{
    let mut all = Vec::new();
    for number in 0.. {
        let got = page(PageWindow { page: number, size }).await.unwrap();
        assert_eq!((got.page, got.page_size), (number, size), "a page says which it is");
        let left = got.total_records as usize - all.len();
        assert_eq!(got.items.len(), left.min(size as usize), "page {number} is full unless it is the last");
        if got.items.is_empty() {
            break;
        }
        all.extend(got.items);
    }
    all
}
