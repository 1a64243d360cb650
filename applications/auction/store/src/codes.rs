//! The whole numbers that stand for states in the stores, in one place: what the fill writes, the server reads.
//!
//! The numbers are part of the data format: change one and the fill's format version must rise.

/// States of an auction (column `auction.state`).
pub mod auction {
    /// Starts later than the present.
    pub const FUTURE: i64 = 0;
    /// Is being held: users may join and bid.
    pub const RUNNING: i64 = 2;
    /// Is over.
    pub const COMPLETE: i64 = 3;
}

/// States of an item (column `item.state`).
pub mod item {
    /// Belongs to a seller and to no auction.
    pub const NOT_LISTED: i64 = 0;
    /// Waits in its auction for its turn.
    pub const IN_AUCTION: i64 = 1;
    /// Is on sale now.
    pub const ACTIVE: i64 = 2;
    /// Was sold.
    pub const SOLD: i64 = 3;
}

/// States of the greatest bid of an item (column `high_bid.state`).
pub mod high_bid {
    /// Higher bids are welcome.
    pub const OPEN: i64 = 0;
    /// Will be sold soon unless somebody bids more.
    pub const LAST_CALL: i64 = 1;
    /// The item was sold for this amount.
    pub const SOLD: i64 = 2;
    /// Nobody bid, or the bidder could not pay: the item went back to the list.
    pub const NOT_SOLD: i64 = 3;
}

/// States of one accepted bid (column `bid.state` of the events).
pub mod bid {
    /// Was the highest when it was accepted.
    pub const HIGH: i64 = 0;
    /// Bought the item.
    pub const WINNING: i64 = 1;
    /// Is stored, and not yet known to be accepted.
    pub const PROPOSED: i64 = 2;
    /// Was never accepted: its node lost the auction first.
    pub const VOID: i64 = 3;
}

/// States of an attendance row (column `attendance.state` of the events).
pub mod attendance {
    /// Attends now.
    pub const ATTENDING: i64 = 0;
    /// Has left.
    pub const LEFT: i64 = 1;
    /// Stayed until the auction was over.
    pub const AUCTION_COMPLETE: i64 = 2;
}

/// Bits of the column `image.sizes` of the events: in which sizes an image exists.
pub mod image {
    /// Fits in 100 x 100.
    pub const THUMBNAIL: i64 = 1;
    /// Fits in 350 x 350.
    pub const PREVIEW: i64 = 2;
    /// As taken.
    pub const FULL: i64 = 4;

    /// The sizes that the bits stand for.
    #[must_use]
    pub fn sizes(bits: i64) -> Vec<barograph_auction_api::ImageSize> {
        use barograph_auction_api::ImageSize::{Full, Preview, Thumbnail};
        let all = [(THUMBNAIL, Thumbnail), (PREVIEW, Preview), (FULL, Full)];
        all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, size)| size).collect()
    }
}
