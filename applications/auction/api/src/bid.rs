//! Bids and the state of the bidding.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AuctionId, Cents, ItemId, Millis, UserId};

/// The state of the bidding for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BidState {
    /// Higher bids are welcome.
    Open,
    /// Will be sold soon unless somebody bids more.
    LastCall,
    /// Was sold to the bidder for the amount.
    Sold,
    /// The item went back to the list because nobody could pay for it.
    NotSold,
    /// The item is not the one on sale now: ask for the current item.
    ItemNotActive,
}

/// The state of the bidding after a change; the answer to a next-bid poll and part of the current item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BidUpdate {
    /// The auction.
    pub auction_id: AuctionId,
    /// The item.
    pub item_id: ItemId,
    /// Who bids most; the "unsold" user while nobody has bid.
    pub bidder_id: UserId,
    /// The highest amount in cents; the starting bid while nobody has bid.
    pub amount_cents: Cents,
    /// Counts the changes of this item's bidding from 1, without gaps.
    pub sequence: u32,
    /// What may happen next.
    pub state: BidState,
}

/// Body of `POST /bid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BidRequest {
    /// The caller (403 when it is somebody else).
    pub user_id: UserId,
    /// The auction.
    pub auction_id: AuctionId,
    /// The item.
    pub item_id: ItemId,
    /// The amount offered, in cents.
    #[serde(deserialize_with = "crate::whole::required")]
    pub amount_cents: Cents,
}

/// Answer to `POST /bid` (202): the bid is in the queue. Its result comes with the next-bid polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BidAccepted {
    /// The auction.
    pub auction_id: AuctionId,
    /// The item.
    pub item_id: ItemId,
    /// The amount offered, in cents.
    pub amount_cents: Cents,
}

/// What became of a stored bid. Bids that were not the highest when they arrived are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BidOutcome {
    /// Was the highest when it was accepted.
    High,
    /// Bought the item.
    Winning,
    /// Is stored, and it is not yet certain that it is accepted.
    Proposed,
}

/// One stored bid of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BidRecord {
    /// Names the bid.
    pub id: i64,
    /// The auction.
    pub auction_id: AuctionId,
    /// The item.
    pub item_id: ItemId,
    /// The amount in cents.
    pub amount_cents: Cents,
    /// The sequence number the item's bidding had with this bid.
    pub sequence: u32,
    /// When it was accepted.
    pub bid_ms: Millis,
    /// What became of it.
    pub outcome: BidOutcome,
}
