//! The seams to the stores of the auction application, and the tests that every implementation passes; those are in
//! `applications/auction/store-*`.
//!
//! [`Relational`] keeps users, auctions, items, high bids, and who runs which auction. [`Events`] keeps what happened to
//! a user: bids, attendance, and which images an item has. Both speak the words of the auction, not a query language:
//! an implementation chooses tables, documents and statements. Pictures are not here.
//!
//! | seam | embedded | real |
//! |---|---|---|
//! | [`Relational`] | SQLite | PostgreSQL, MariaDB |
//! | [`Events`] | SQLite | PostgreSQL JSON, MongoDB protocol |
//!
//! **Which bids are accepted.** A change is written in three steps: its bid is *proposed* in the events, the change is
//! *applied* in the relational store, which is where it counts, and the bid is *settled* in the events. Only applied
//! changes are published. A node that dies leaves proposed bids; whoever takes its auction over settles them by
//! [`fate`]. A node that lost its auction without noticing writes nothing that counts: every change carries the fence it
//! was made under, and the relational store refuses one that is not the auction's current fence.

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
pub use events::{Events, Settled};
pub use load::{Batch, EventBatch, Loading, RelationalBatch};
pub use registry::{Assignment, Beat, Cluster, Enlisted, Led, Member, Registry, Standing};
pub use relational::{
    Account, Applied, AuctionFilter, Audit, Change, Initial, ItemFilter, Offered, Profile, Relational,
    StartState, Updated,
};
pub use rows::{
    AttendanceRow, AuctionRow, BidRow, Fate, HighBidRow, ImageRow, ItemRow, Span, UserRow, Window, fate,
};

use std::future::Future;
use std::pin::Pin;

/// What an asynchronous method of a seam gives.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What a store is, for the record of a run and for operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Product and version as the server says, such as `PostgreSQL 15.18`.
    pub product: String,
    /// What survives what, in words: which settings decide whether a commit survives the process and the machine.
    pub durability: String,
}

/// Where the application's clock stands at the start of a run, and the "present" of a fill: 2030-02-02T12:00:00Z, in
/// milliseconds since 1970.
pub const CLOCK_START_MS: i64 = 1_896_264_000_000;
