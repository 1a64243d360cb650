//! The seam to the event store.

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Millis, Page, UserId};

use crate::rows::{AttendanceRow, BidRow, ImageRow, Window};
use crate::{Described, Later};

/// A proposed bid, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// With `bid_ms` and `bid` it finds the bid.
    pub bidder: UserId,
    /// When it was accepted.
    pub bid_ms: Millis,
    /// Names the bid.
    pub bid: i64,
    /// One of [`crate::codes::bid`].
    pub state: i64,
}

/// The event store: what happened to users, and which images items have. Every write may be repeated: the second time it
/// changes nothing.
pub trait Events: Send + Sync + 'static {
    /// What it is.
    fn describe(&self) -> Described;

    /// Answers when the store works.
    fn ping(&self) -> Later<'_, ()>;

    /// Writes proposed bids and what became of earlier ones; both are few hundred at most. The later of two settlements
    /// of a bid counts, but that it was accepted (`HIGH`) settles only what is still proposed: it may come late from an
    /// owner that has lost the auction.
    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [Settled]) -> Later<'a, ()>;

    /// The bids of an auction that are still only proposed, by id.
    fn unsettled(&self, auction: AuctionId) -> Later<'_, Vec<BidRow>>;

    /// A page of a user's bids, void ones left out, latest first (by time, then id).
    fn user_bids(&self, user: UserId, window: Window) -> Later<'_, Page<BidRecord>>;

    /// Records that a user attends an auction; somebody who attends it already keeps the record there is, which is then
    /// the answer. Two calls for the same user at the same time leave one record.
    fn join(&self, attendance: AttendanceRow) -> Later<'_, AttendanceRecord>;

    /// Marks a user's open attendance as left: at one auction, or at all of them. Answers how many there were.
    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> Later<'_, usize>;

    /// A page of a user's attendances, latest first (by time, then id).
    fn user_attendance(&self, user: UserId, window: Window) -> Later<'_, Page<AttendanceRecord>>;

    /// The images of some items, by item, number and id.
    fn images<'a>(&'a self, items: &'a [ItemId]) -> Later<'a, Vec<ImageRow>>;

    /// Adds an image to its item; equal ids are the same image. The row's `number` stands.
    fn add_image(&self, image: ImageRow) -> Later<'_, ()>;

    /// The bids of this run (not the loaded ones), by listing, sequence and id, for the data checks.
    fn run_bids(&self) -> Later<'_, Vec<BidRow>>;

    /// Users that attend one auction more than once at the same time: user and auction, for the data checks.
    fn double_attendance(&self) -> Later<'_, Vec<(UserId, AuctionId)>>;
}
