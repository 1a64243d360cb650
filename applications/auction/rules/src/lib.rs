//! The rules of a live auction as a state machine: no clock, no store, no async; time and money come as
//! arguments.
//!
//! One item is on sale at a time, in the order of the list. [`IDLE_MS`] without a new bid lead to the last
//! call, and as long again to the sale. A bid in the last call reopens the bidding and restarts both timers.
//! Every change raises the item's sequence number by one. Nothing advances before the first
//! [`LiveAuction::wake`] or bid, so an auction without followers does not change.
//!
//! Two cases that the published rules leave open are decided here. An item without bids goes to the end of
//! the list, so that it does not hold up the others. A winner who can no longer pay (the credit went to
//! another item since the bid) does not get the item: nothing is paid, and it goes to the end of the list as
//! well.

mod auction;
mod purse;
#[cfg(test)]
mod tests;

pub use auction::{BidResult, Bidding, Event, EventKind, Listing, LiveAuction, Offer};
pub use purse::{Purse, Purses};

use barograph_auction_api::{Millis, UserId};

/// Idle time of the bidding before the last call, and after it before the sale, in milliseconds.
pub const IDLE_MS: Millis = 30_000;

/// The placeholder for "no bidder yet": an account without a password.
pub const UNSOLD: UserId = UserId(0);
