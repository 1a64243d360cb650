//! Loading of a filled data set into a store, in large batches.

use crate::StoreFuture;
use crate::rows::{AttendanceRow, AuctionRow, BidRow, HighBidRow, ImageRow, ItemRow, UserRow};

/// Rows of the relational store that were made together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelationalBatch {
    /// Users.
    pub users: Vec<UserRow>,
    /// Auctions.
    pub auctions: Vec<AuctionRow>,
    /// Items.
    pub items: Vec<ItemRow>,
    /// Listings with their greatest bids.
    pub high_bids: Vec<HighBidRow>,
}

/// Rows of the event store that were made together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventBatch {
    /// Bids.
    pub bids: Vec<BidRow>,
    /// Attendance.
    pub attendance: Vec<AttendanceRow>,
    /// Images.
    pub images: Vec<ImageRow>,
}

/// Rows of one of the two stores.
pub trait Batch: Send + 'static {
    /// Number of rows.
    fn rows(&self) -> usize;
}

impl Batch for RelationalBatch {
    fn rows(&self) -> usize {
        self.users.len() + self.auctions.len() + self.items.len() + self.high_bids.len()
    }
}

impl Batch for EventBatch {
    fn rows(&self) -> usize {
        self.bids.len() + self.attendance.len() + self.images.len()
    }
}

/// A store being loaded: emptied and prepared, filled batch by batch, then finished.
pub trait Loading<B: Batch>: Send {
    /// Adds rows. All of them count as preloaded.
    fn add(&mut self, batch: B) -> StoreFuture<'_, ()>;

    /// Makes the indices, gathers statistics for the planner, stores a description of the data (for the
    /// relational store [`crate::Initial`], and `stamp`, the name of the data set), and makes everything
    /// durable.
    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a;
}
