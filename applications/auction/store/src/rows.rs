//! Rows as plain values: what a fill makes, what is loaded into a store, and what single changes write.
//!
//! Money is whole cents, time is milliseconds since 1970 on the application's clock. States are the numbers of
//! [`crate::codes`].

use std::borrow::Cow;

use barograph_auction_api::{Cents, Millis};

/// A stretch of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Number of the page, from 0.
    pub page: u32,
    /// Entries per page, at least 1.
    pub size: u32,
}

impl Window {
    /// Entries before the page.
    #[must_use]
    pub fn offset(self) -> i64 {
        i64::from(self.page) * i64::from(self.size)
    }
}

/// A span of time: from the first moment up to, but not including, the second.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first moment.
    pub from: Millis,
    /// The moment after the last.
    pub to: Millis,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    /// Names the user.
    pub id: i64,
    /// Unique.
    pub name: String,
    /// The password's hash as a PHC string.
    pub password: String,
    /// First name.
    pub first_name: Cow<'static, str>,
    /// Last name.
    pub last_name: Cow<'static, str>,
    /// What the user may spend.
    pub credit_cents: Cents,
    /// Whether the user may log in.
    pub enabled: bool,
}

/// An auction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuctionRow {
    /// Names the auction.
    pub id: i64,
    /// What it is called.
    pub name: Cow<'static, str>,
    /// What is sold.
    pub category: Cow<'static, str>,
    /// When it starts.
    pub start_ms: Millis,
    /// When it ended, if it has.
    pub end_ms: Option<Millis>,
    /// See [`crate::codes::auction`].
    pub state: i64,
    /// Who sells.
    pub auctioneer_id: i64,
}

/// An item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Names the item.
    pub id: i64,
    /// The auction that sells it, if it is listed.
    pub auction_id: Option<i64>,
    /// Who sells it.
    pub auctioneer_id: i64,
    /// Position in [`barograph_auction_api::Condition::ALL`].
    pub condition: i64,
    /// Who made it.
    pub manufacturer: Cow<'static, str>,
    /// What it is, in one line.
    pub short_description: String,
    /// What it is, at length.
    pub long_description: String,
    /// When it was made.
    pub origin_ms: Millis,
    /// The amount bidding starts at.
    pub starting_bid_cents: Cents,
    /// See [`crate::codes::item`].
    pub state: i64,
}

/// A listing: one time that an item was on sale, with its greatest bid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighBidRow {
    /// Names the listing.
    pub id: i64,
    /// The auction.
    pub auction_id: i64,
    /// The item.
    pub item_id: i64,
    /// Who bids most.
    pub bidder_id: i64,
    /// The greatest amount; the starting bid while nobody has bid.
    pub amount_cents: Cents,
    /// See [`crate::codes::high_bid`].
    pub state: i64,
    /// Changes of this listing so far, from 1.
    pub sequence: i64,
    /// When it came on sale.
    pub start_ms: Millis,
    /// When the bidding ended, if it has.
    pub end_ms: Option<Millis>,
    /// When the greatest bid was accepted.
    pub bid_ms: Millis,
    /// The event row of the greatest bid; 0 when nobody has bid.
    pub bid_id: i64,
    /// Counts the listings of the auction, from 1.
    pub round: i64,
    /// The fence under which the row was last written; 0 for filled rows.
    pub fence: i64,
}

/// A bid, accepted or on its way to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BidRow {
    /// Names the bid.
    pub id: i64,
    /// Who bid.
    pub bidder_id: i64,
    /// When.
    pub bid_ms: Millis,
    /// The auction.
    pub auction_id: i64,
    /// The item.
    pub item_id: i64,
    /// The listing, see [`HighBidRow::id`].
    pub listing: i64,
    /// How much.
    pub amount_cents: Cents,
    /// See [`crate::codes::bid`].
    pub state: i64,
    /// The sequence number the listing had with this bid.
    pub sequence: i64,
    /// The fence under which it was proposed; 0 for filled rows.
    pub fence: i64,
}

/// Somebody attends, or attended, an auction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttendanceRow {
    /// Names the record.
    pub id: i64,
    /// Who.
    pub user_id: i64,
    /// Since when.
    pub record_ms: Millis,
    /// Which auction.
    pub auction_id: i64,
    /// Its name.
    pub auction_name: Cow<'static, str>,
    /// See [`crate::codes::attendance`].
    pub state: i64,
}

/// An image of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRow {
    /// Names the image.
    pub id: i64,
    /// The item.
    pub item_id: i64,
    /// Order among the item's images, from 0. Equal numbers are ordered by `id`.
    pub number: i64,
    /// Bits of [`crate::codes::image`].
    pub sizes: i64,
    /// When it was made.
    pub created_ms: Millis,
}

/// What becomes of a bid that was proposed and not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The relational store holds it.
    Accepted,
    /// Its node lost the auction, or died, before the relational store took it.
    Void,
}

/// The fate of a proposed bid, given its listing as the relational store has it (`None`: there is no such listing).
///
/// A listing's changes are applied in order and each under one fence, and whoever takes an auction over settles the bids
/// of the owner before it first. So an unsettled bid was applied exactly when the listing was last written under the
/// bid's fence and has come to the bid's sequence number.
#[must_use]
pub fn fate(bid: &BidRow, listing: Option<&HighBidRow>) -> Fate {
    match listing {
        Some(row) if row.id == bid.listing && row.fence == bid.fence && row.sequence >= bid.sequence => {
            Fate::Accepted
        }
        _ => Fate::Void,
    }
}
