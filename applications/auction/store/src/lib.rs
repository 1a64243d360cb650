//! Interfaces of the auction application's stores, and contract tests for their implementations, which are in
//! `applications/auction/store-*`.
//!
//! [`Relational`] keeps users, auctions, items, high bids, and the register of nodes. [`Events`] keeps the
//! history of users: bids, attendance, and the list of an item's images. Both are in terms of the auction,
//! not of a query language: an implementation chooses tables, documents and statements. Pictures are stored
//! elsewhere.
//!
//! | seam | embedded | real |
//! |---|---|---|
//! | [`Relational`] | SQLite | PostgreSQL, MariaDB |
//! | [`Events`] | SQLite | PostgreSQL JSON, MongoDB protocol |
//!
//! **Accepted bids.** A change is written in three steps: its bid is *proposed* in the events, the change is
//! *applied* in the relational store, which is where it counts, and the bid is *settled* in the events. Only
//! applied changes are published. A node that dies leaves proposed bids; the next owner of its auction
//! settles them by [`fate`]. A node that lost its auction without noticing writes nothing that counts: every
//! change carries the fence it was made under, and the relational store refuses one that is not the auction's
//! current fence.

pub mod codes;
#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod events;
mod load;
mod registry;
mod relational;
mod rows;

pub use error::StoreError;
pub use events::{Events, SettledBid};
pub use load::{Batch, EventBatch, Loading, RelationalBatch};
pub use registry::{Assignment, Cluster, Enlistment, Heartbeat, LeaderState, Member, Registry, Standing};
pub use relational::{
    Account, AuctionFilter, Audit, Change, ChangeOutcome, Initial, ItemFilter, ItemUpdateOutcome,
    ListingAudit, Profile, Relational, StartState,
};
pub use rows::{
    AttendanceRow, AuctionRow, BidRow, BidSettlement, HighBidRow, ImageRow, ItemRow, PageWindow, Span,
    UserRow, fate,
};

use std::future::Future;
use std::pin::Pin;

/// Result of an asynchronous method.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Description of a store, for the record of a run and for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDescription {
    /// Product and version as reported by the server, such as `PostgreSQL 15.18`.
    pub product: String,
    /// Durability in words: the settings that decide whether a commit survives the process and the machine.
    pub durability: String,
}

/// The application's clock at the start of a run, and the "present" of a fill: 2030-02-02T12:00:00Z, in
/// milliseconds since 1970.
pub const CLOCK_START_MS: i64 = 1_896_264_000_000;
