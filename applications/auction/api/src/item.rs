//! Items and purchases.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AuctionId, Cents, ImageLink, ItemId, Millis, UserId};

/// How worn an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// Never used, in its package.
    New,
    /// Never used.
    LikeNew,
    /// Hardly used.
    VeryGood,
    /// Used, works well.
    Good,
    /// Used, shows it.
    Fair,
    /// Much used.
    Poor,
    /// Does not work.
    Bad,
}

impl Condition {
    /// All conditions, best first; the position is the number the stores keep.
    pub const ALL: [Condition; 7] = [
        Condition::New,
        Condition::LikeNew,
        Condition::VeryGood,
        Condition::Good,
        Condition::Fair,
        Condition::Poor,
        Condition::Bad,
    ];
}

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemState {
    /// Belongs to a seller and to no auction.
    NotListed,
    /// Waits in its auction for its turn.
    InAuction,
    /// Is on sale now.
    Active,
    /// Was sold.
    Sold,
}

/// An item, in lists and alone, with links to its own images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Names the item.
    pub id: ItemId,
    /// The auction that sells it; absent when it is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auction_id: Option<AuctionId>,
    /// Who sells it.
    pub auctioneer_id: UserId,
    /// Where it stands.
    pub state: ItemState,
    /// How worn it is.
    pub condition: Condition,
    /// Who made it.
    pub manufacturer: String,
    /// What it is, in one line.
    pub short_description: String,
    /// What it is, at length.
    pub long_description: String,
    /// When it was made.
    pub origin_ms: Millis,
    /// The amount bidding starts at, in cents.
    pub starting_bid_cents: Cents,
    /// Its own images; may be empty.
    pub images: Vec<ImageLink>,
}

/// Body of `POST /item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewItem {
    /// How worn it is.
    pub condition: Condition,
    /// Who made it.
    pub manufacturer: String,
    /// What it is, in one line.
    pub short_description: String,
    /// What it is.
    pub long_description: String,
    /// When it was made.
    #[serde(deserialize_with = "crate::whole::required")]
    pub origin_ms: Millis,
    /// The amount bidding starts at, in cents.
    #[serde(deserialize_with = "crate::whole::required")]
    pub starting_bid_cents: Cents,
}

/// Body of `PUT /item/{id}`: what changes; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemUpdate {
    /// Another condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// Another maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// What it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_description: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_description: Option<String>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::whole::optional")]
    pub origin_ms: Option<Millis>,
    /// The amount bidding starts at, in cents.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::whole::optional")]
    pub starting_bid_cents: Option<Cents>,
}

/// Query of `GET /item`: what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemQuery {
    /// With all of these words in the short description, whatever the case; the last may be the beginning of a word.
    /// At most [`crate::MAX_SEARCH`] characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// In this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ItemState>,
    /// In this condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// With a starting bid of at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_cents: Option<Cents>,
    /// With a starting bid of at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_cents: Option<Cents>,
    /// Number of the page, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Entries per page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
}

/// One item that a user bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Purchase {
    /// What was bought.
    pub item_id: ItemId,
    /// Where it was bought.
    pub auction_id: AuctionId,
    /// What it is, in one line.
    pub short_description: String,
    /// The price in cents.
    pub amount_cents: Cents,
    /// When it was sold.
    pub sold_ms: Millis,
    /// The item's own images.
    pub images: Vec<ImageLink>,
}

/// Query of the purchase history: a page, and optionally a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurchaseQuery {
    /// Number of the page, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Entries per page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// Only purchases at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_date: Option<Millis>,
    /// Only purchases before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_date: Option<Millis>,
}
