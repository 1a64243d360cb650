//! Interface of the event store.

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Millis, Page, UserId};

use crate::rows::{AttendanceRow, BidRow, ImageRow, PageWindow};
use crate::{StoreDescription, StoreFuture};

/// A proposed bid and its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledBid {
    /// With `bid_ms` and `bid` it finds the bid.
    pub bidder: UserId,
    /// The time of its acceptance.
    pub bid_ms: Millis,
    /// Id of the bid.
    pub bid: i64,
    /// One of [`crate::codes::bid`].
    pub state: i64,
}

/// The event store: histories of users, and images of items. All writes are idempotent.
pub trait Events: Send + Sync + 'static {
    /// Description of the store.
    fn describe(&self) -> StoreDescription;

    /// Succeeds if the store works.
    fn ping(&self) -> StoreFuture<'_, ()>;

    /// Writes proposed bids and settlements of earlier ones, a few hundred of each at most. The later of two
    /// settlements of a bid counts, except that acceptance (`HIGH`) settles only proposed bids: it may come
    /// late from an owner that has lost the auction.
    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [SettledBid]) -> StoreFuture<'a, ()>;

    /// The bids of an auction that are still proposed, by id.
    fn unsettled(&self, auction: AuctionId) -> StoreFuture<'_, Vec<BidRow>>;

    /// A page of a user's bids, without void ones, latest first (by time, then id).
    fn user_bids(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<BidRecord>>;

    /// Records that a user joins an auction. If the user is already present, the existing record is kept and
    /// returned. Two concurrent calls for a user leave one record.
    fn join(&self, attendance: AttendanceRow) -> StoreFuture<'_, AttendanceRecord>;

    /// Ends a user's open attendance at one auction, or at all of them. Returns their number.
    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> StoreFuture<'_, usize>;

    /// A page of a user's attendances, latest first (by time, then id).
    fn user_attendance(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<AttendanceRecord>>;

    /// The images of some items, by item, number and id.
    fn images<'a>(&'a self, items: &'a [ItemId]) -> StoreFuture<'a, Vec<ImageRow>>;

    /// Adds an image to its item; equal ids are the same image. The row's `number` is kept.
    fn add_image(&self, image: ImageRow) -> StoreFuture<'_, ()>;

    /// The bids of this run (without loaded ones), by listing, sequence and id, for the data checks.
    fn run_bids(&self) -> StoreFuture<'_, Vec<BidRow>>;

    /// Users with several open attendances at one auction: user and auction, for the data checks.
    fn double_attendance(&self) -> StoreFuture<'_, Vec<(UserId, AuctionId)>>;
}
