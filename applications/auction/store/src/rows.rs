//! Rows as plain values, for fills, loads and single changes.
//!
//! Money is whole cents, time is milliseconds since 1970 on the application's clock. States are the numbers
//! of [`crate::codes`].

use std::borrow::Cow;

use barograph_auction_api::{Cents, Millis};

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageWindow {
    /// Number of the page, from 0.
    pub page: u32,
    /// Entries per page, at least 1.
    pub size: u32,
}

impl PageWindow {
    /// Entries before the page.
    #[must_use]
    pub fn offset(self) -> i64 {
        i64::from(self.page) * i64::from(self.size)
    }
}

/// A span of time, including its first and excluding its last moment.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first moment, included.
    pub from: Millis,
    /// The last moment, excluded.
    pub to: Millis,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    /// Id of the user.
    pub id: i64,
    /// Unique.
    pub name: String,
    /// The password's hash as a PHC string.
    pub password: String,
    /// First name.
    pub first_name: Cow<'static, str>,
    /// Last name.
    pub last_name: Cow<'static, str>,
    /// Available credit.
    pub credit_cents: Cents,
    /// Whether the user may log in.
    pub enabled: bool,
}

/// An auction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuctionRow {
    /// Id of the auction.
    pub id: i64,
    /// Its name.
    pub name: Cow<'static, str>,
    /// Category of its items.
    pub category: Cow<'static, str>,
    /// Start time.
    pub start_ms: Millis,
    /// End time, if it is over.
    pub end_ms: Option<Millis>,
    /// See [`crate::codes::auction`].
    pub state: i64,
    /// Its seller.
    pub auctioneer_id: i64,
}

/// An item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Id of the item.
    pub id: i64,
    /// The auction that sells it, if it is listed.
    pub auction_id: Option<i64>,
    /// Its seller.
    pub auctioneer_id: i64,
    /// Position in [`barograph_auction_api::Condition::ALL`].
    pub condition: i64,
    /// Its maker.
    pub manufacturer: Cow<'static, str>,
    /// Description in one line.
    pub short_description: String,
    /// Long description.
    pub long_description: String,
    /// Time of its making.
    pub origin_ms: Millis,
    /// The starting bid.
    pub starting_bid_cents: Cents,
    /// See [`crate::codes::item`].
    pub state: i64,
}

/// A listing: an item on sale, with its greatest bid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighBidRow {
    /// Id of the listing.
    pub id: i64,
    /// The auction.
    pub auction_id: i64,
    /// The item.
    pub item_id: i64,
    /// The leading bidder.
    pub bidder_id: i64,
    /// The greatest amount; the starting bid before the first bid.
    pub amount_cents: Cents,
    /// See [`crate::codes::high_bid`].
    pub state: i64,
    /// Changes of this listing so far, from 1.
    pub sequence: i64,
    /// Start of the sale.
    pub start_ms: Millis,
    /// End of the bidding, if it is over.
    pub end_ms: Option<Millis>,
    /// Time of the greatest bid.
    pub bid_ms: Millis,
    /// The event row of the greatest bid; 0 before the first bid.
    pub bid_id: i64,
    /// Number of the listing within the auction, from 1.
    pub round: i64,
    /// The fence under which the row was last written; 0 for filled rows.
    pub fence: i64,
}

/// A bid, accepted or proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BidRow {
    /// Id of the bid.
    pub id: i64,
    /// The bidder.
    pub bidder_id: i64,
    /// Its time.
    pub bid_ms: Millis,
    /// The auction.
    pub auction_id: i64,
    /// The item.
    pub item_id: i64,
    /// The listing, see [`HighBidRow::id`].
    pub listing: i64,
    /// The amount.
    pub amount_cents: Cents,
    /// See [`crate::codes::bid`].
    pub state: i64,
    /// The sequence number of the listing with this bid.
    pub sequence: i64,
    /// The fence under which it was proposed; 0 for filled rows.
    pub fence: i64,
}

/// Presence of a user at an auction, present or past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttendanceRow {
    /// Id of the record.
    pub id: i64,
    /// The user.
    pub user_id: i64,
    /// Time of joining.
    pub record_ms: Millis,
    /// The auction.
    pub auction_id: i64,
    /// Its name.
    pub auction_name: Cow<'static, str>,
    /// See [`crate::codes::attendance`].
    pub state: i64,
}

/// An image of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRow {
    /// Id of the image.
    pub id: i64,
    /// The item.
    pub item_id: i64,
    /// Order among the item's images, from 0. Equal numbers are ordered by `id`.
    pub number: i64,
    /// Bits of [`crate::codes::image`].
    pub sizes: i64,
    /// Time of its making.
    pub created_ms: Millis,
}

/// Fate of a proposed, unsettled bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BidSettlement {
    /// The relational store holds it.
    Accepted,
    /// Its node lost the auction, or died, before the relational store took it.
    Void,
}

/// The fate of a proposed bid, given its listing in the relational store (`None` if it does not exist).
///
/// A listing's changes are applied in order and each under one fence, and a new owner first settles the bids
/// of the previous one. So an unsettled bid was applied exactly when the listing was last written under the
/// bid's fence and has reached the bid's sequence number.
#[must_use]
pub fn fate(bid: &BidRow, listing: Option<&HighBidRow>) -> BidSettlement {
    match listing {
        Some(row) if row.id == bid.listing && row.fence == bid.fence && row.sequence >= bid.sequence => {
            BidSettlement::Accepted
        }
        _ => BidSettlement::Void,
    }
}
