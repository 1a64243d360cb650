//! Documents, in the form common to both products.

use std::borrow::Cow;

use barograph_auction_api::Millis;
use barograph_auction_store::{AttendanceRow, BidRow, ImageRow};
use serde::{Deserialize, Serialize};

/// A bid. Its id and its bidder are its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BidDocument {
    pub(crate) ms: Millis,
    pub(crate) auction: i64,
    pub(crate) item: i64,
    pub(crate) listing: i64,
    pub(crate) cents: i64,
    /// The state as proposed or loaded; the MongoDB form keeps settlements beside it.
    pub(crate) state: i64,
    pub(crate) sequence: i64,
    pub(crate) fence: i64,
}

impl BidDocument {
    pub(crate) fn of(row: &BidRow) -> Self {
        Self {
            ms: row.bid_ms,
            auction: row.auction_id,
            item: row.item_id,
            listing: row.listing,
            cents: row.amount_cents,
            state: row.state,
            sequence: row.sequence,
            fence: row.fence,
        }
    }

    pub(crate) fn row(self, bidder_id: i64, id: i64) -> BidRow {
        BidRow {
            id,
            bidder_id,
            bid_ms: self.ms,
            auction_id: self.auction,
            item_id: self.item,
            listing: self.listing,
            amount_cents: self.cents,
            state: self.state,
            sequence: self.sequence,
            fence: self.fence,
        }
    }
}

/// A user's attendance at an auction. Its id and its user are its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttendanceDocument {
    pub(crate) ms: Millis,
    pub(crate) auction: i64,
    pub(crate) name: String,
    pub(crate) state: i64,
}

impl AttendanceDocument {
    pub(crate) fn of(row: &AttendanceRow) -> Self {
        Self {
            ms: row.record_ms,
            auction: row.auction_id,
            name: row.auction_name.clone().into_owned(),
            state: row.state,
        }
    }

    pub(crate) fn row(self, user_id: i64, id: i64) -> AttendanceRow {
        AttendanceRow {
            id,
            user_id,
            record_ms: self.ms,
            auction_id: self.auction,
            auction_name: Cow::Owned(self.name),
            state: self.state,
        }
    }
}

/// An image. Its id and its item are its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageDocument {
    pub(crate) number: i64,
    pub(crate) sizes: i64,
    pub(crate) ms: Millis,
}

impl ImageDocument {
    pub(crate) fn of(row: &ImageRow) -> Self {
        Self { number: row.number, sizes: row.sizes, ms: row.created_ms }
    }

    pub(crate) fn row(self, item_id: i64, id: i64) -> ImageRow {
        ImageRow { id, item_id, number: self.number, sizes: self.sizes, created_ms: self.ms }
    }
}
