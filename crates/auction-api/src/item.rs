//! Items, their images, and purchases.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AuctionId, Cents, ImageId, ItemId, Millis, UserId};

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

/// One image of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageLink {
    /// Names the image.
    pub id: ImageId,
    /// Path to the image; add `?size=` with one of `sizes`.
    pub href: String,
    /// The sizes this image exists in.
    pub sizes: Vec<ImageSize>,
}

/// How large a copy of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ImageSize {
    /// Fits in 100 x 100.
    Thumbnail,
    /// Fits in 350 x 350.
    Preview,
    /// As taken.
    Full,
}

impl ImageSize {
    /// The name on the wire and in the image store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ImageSize::Thumbnail => "thumbnail",
            ImageSize::Preview => "preview",
            ImageSize::Full => "full",
        }
    }
}

/// Query of an image resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageQuery {
    /// Which size.
    pub size: ImageSize,
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
    /// Who made it, at most 100 bytes.
    pub manufacturer: String,
    /// What it is, in one line, at most 127 bytes.
    pub short_description: String,
    /// What it is, at most 1024 bytes.
    pub long_description: String,
    /// When it was made.
    pub origin_ms: Millis,
    /// The amount bidding starts at, in cents; not negative.
    pub starting_bid_cents: Cents,
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
