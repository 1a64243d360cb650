//! Numbers for states in the stores: written by the fill, read by the server.
//!
//! They are part of the data format: a change of a number requires a new version of the fill's format.

/// States of an auction (column `auction.state`).
pub mod auction {
    /// Starts later than the present.
    pub const FUTURE: i64 = 0;
    /// In progress: users may join and bid.
    pub const RUNNING: i64 = 2;
    /// Over.
    pub const COMPLETE: i64 = 3;
}

/// States of an item (column `item.state`).
pub mod item {
    /// Belongs to a seller and is in no auction.
    pub const NOT_LISTED: i64 = 0;
    /// Waits for its turn in its auction.
    pub const IN_AUCTION: i64 = 1;
    /// On sale.
    pub const ACTIVE: i64 = 2;
    /// Sold.
    pub const SOLD: i64 = 3;
}

/// States of the greatest bid of an item (column `high_bid.state`).
pub mod high_bid {
    /// Open for higher bids.
    pub const OPEN: i64 = 0;
    /// To be sold soon unless there is a higher bid.
    pub const LAST_CALL: i64 = 1;
    /// Sold for this amount.
    pub const SOLD: i64 = 2;
    /// Returned to the list: there was no bid, or the bidder could not pay.
    pub const NOT_SOLD: i64 = 3;
}

/// States of one accepted bid (column `bid.state` of the events).
pub mod bid {
    /// The highest when it was accepted.
    pub const HIGH: i64 = 0;
    /// Bought the item.
    pub const WINNING: i64 = 1;
    /// Stored, not yet known to be accepted.
    pub const PROPOSED: i64 = 2;
    /// Never accepted: its node lost the auction first.
    pub const VOID: i64 = 3;
}

/// States of an attendance row (column `attendance.state` of the events).
pub mod attendance {
    /// Present.
    pub const ATTENDING: i64 = 0;
    /// Has left.
    pub const LEFT: i64 = 1;
    /// Present until the auction was over.
    pub const AUCTION_COMPLETE: i64 = 2;
}

/// Bits of the column `image.sizes` of the events: sizes in which an image exists.
pub mod image {
    /// Fits in 100 x 100.
    pub const THUMBNAIL: i64 = 1;
    /// Fits in 350 x 350.
    pub const PREVIEW: i64 = 2;
    /// Original size.
    pub const FULL: i64 = 4;

    /// The sizes of a set of bits.
    #[must_use]
    pub fn sizes(bits: i64) -> Vec<barograph_auction_api::ImageSize> {
        use barograph_auction_api::ImageSize::{Full, Preview, Thumbnail};
        let all = [(THUMBNAIL, Thumbnail), (PREVIEW, Preview), (FULL, Full)];
        all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, size)| size).collect()
    }
}
