//! Numbers in the stores to words on the wire, and back.

use barograph_auction_api::{
    AttendanceState, AuctionState, BidOutcome, Cents, Condition, ImageSize, ItemState, Millis,
};
use rusqlite::Row;

use crate::codes;

/// A stretch of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    /// Number of the page, from 0.
    pub(crate) page: u32,
    /// Entries per page, at least 1.
    pub(crate) size: u32,
}

impl Window {
    /// Entries before the page.
    pub(crate) fn offset(self) -> i64 {
        i64::from(self.page) * i64::from(self.size)
    }
}

/// A span of time: from the first moment up to, but not including, the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: Millis,
    pub(crate) to: Millis,
}

/// A number that stands for no state: the file was not made by this program's fill.
fn unknown(column: usize, value: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(column, value)
}

pub(crate) fn auction_state(row: &Row<'_>, column: usize) -> rusqlite::Result<AuctionState> {
    match row.get(column)? {
        codes::auction::FUTURE => Ok(AuctionState::Future),
        codes::auction::RUNNING => Ok(AuctionState::Running),
        codes::auction::COMPLETE => Ok(AuctionState::Complete),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn item_state(row: &Row<'_>, column: usize) -> rusqlite::Result<ItemState> {
    match row.get(column)? {
        codes::item::NOT_LISTED => Ok(ItemState::NotListed),
        codes::item::IN_AUCTION => Ok(ItemState::InAuction),
        codes::item::ACTIVE => Ok(ItemState::Active),
        codes::item::SOLD => Ok(ItemState::Sold),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn bid_outcome(row: &Row<'_>, column: usize) -> rusqlite::Result<BidOutcome> {
    match row.get(column)? {
        codes::bid::HIGH => Ok(BidOutcome::High),
        codes::bid::WINNING => Ok(BidOutcome::Winning),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn attendance_state(row: &Row<'_>, column: usize) -> rusqlite::Result<AttendanceState> {
    match row.get(column)? {
        codes::attendance::ATTENDING => Ok(AttendanceState::Attending),
        codes::attendance::LEFT => Ok(AttendanceState::Left),
        codes::attendance::AUCTION_COMPLETE => Ok(AttendanceState::AuctionComplete),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn condition(row: &Row<'_>, column: usize) -> rusqlite::Result<Condition> {
    let number: i64 = row.get(column)?;
    let index = usize::try_from(number).ok();
    index.and_then(|i| Condition::ALL.get(i).copied()).ok_or_else(|| unknown(column, number))
}

pub(crate) fn condition_number(condition: Condition) -> i64 {
    Condition::ALL.iter().position(|c| *c == condition).map_or(0, |i| i as i64)
}

pub(crate) fn image_sizes(bits: i64) -> Vec<ImageSize> {
    let all = [
        (codes::image::THUMBNAIL, ImageSize::Thumbnail),
        (codes::image::PREVIEW, ImageSize::Preview),
        (codes::image::FULL, ImageSize::Full),
    ];
    all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, size)| size).collect()
}

/// The greatest bid of a listing as the store keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HighBid {
    pub(crate) row: i64,
    pub(crate) bidder: i64,
    pub(crate) amount: Cents,
    pub(crate) state: i64,
    pub(crate) sequence: u32,
    pub(crate) bid_ms: Millis,
}

/// The count in the first column.
pub(crate) fn count(row: &Row<'_>) -> rusqlite::Result<u64> {
    let number: i64 = row.get(0)?;
    u64::try_from(number).map_err(|_| unknown(0, number))
}
