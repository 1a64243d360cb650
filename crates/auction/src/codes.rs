//! The whole numbers that stand for states in the stores, in one place: what the fill writes, the server reads.
//!
//! The numbers are part of the data format: change one and the fill's format version must rise.

/// States of an auction (column `auction.state`).
pub(crate) mod auction {
    /// Starts later than the present.
    pub(crate) const FUTURE: i64 = 0;
    /// Is being held: users may join and bid.
    pub(crate) const RUNNING: i64 = 2;
    /// Is over.
    pub(crate) const COMPLETE: i64 = 3;
}

/// States of an item (column `item.state`).
pub(crate) mod item {
    /// Belongs to a seller and to no auction.
    pub(crate) const NOT_LISTED: i64 = 0;
    /// Waits in its auction for its turn.
    pub(crate) const IN_AUCTION: i64 = 1;
    /// Is on sale now.
    pub(crate) const ACTIVE: i64 = 2;
    /// Was sold.
    pub(crate) const SOLD: i64 = 3;
}

/// States of the greatest bid of an item (column `high_bid.state`).
pub(crate) mod high_bid {
    /// Higher bids are welcome.
    pub(crate) const OPEN: i64 = 0;
    /// Will be sold soon unless somebody bids more.
    pub(crate) const LAST_CALL: i64 = 1;
    /// The item was sold for this amount.
    pub(crate) const SOLD: i64 = 2;
    /// Nobody bid, or the bidder could not pay: the item went back to the list.
    pub(crate) const NOT_SOLD: i64 = 3;
}

/// States of one accepted bid (column `bid.state` of the events).
pub(crate) mod bid {
    /// Was the highest when it was accepted.
    pub(crate) const HIGH: i64 = 0;
    /// Bought the item.
    pub(crate) const WINNING: i64 = 1;
}

/// States of an attendance row (column `attendance.state` of the events).
pub(crate) mod attendance {
    /// Attends now.
    pub(crate) const ATTENDING: i64 = 0;
    /// Has left.
    pub(crate) const LEFT: i64 = 1;
    /// Stayed until the auction was over.
    pub(crate) const AUCTION_COMPLETE: i64 = 2;
}

/// Bits of the column `image.sizes` of the events: in which sizes an image exists.
pub(crate) mod image {
    /// Fits in 100 x 100.
    pub(crate) const THUMBNAIL: i64 = 1;
    /// Fits in 350 x 350.
    pub(crate) const PREVIEW: i64 = 2;
    /// As taken.
    pub(crate) const FULL: i64 = 4;
}
