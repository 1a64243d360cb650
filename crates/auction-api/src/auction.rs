//! Auctions and how far they are.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AuctionId, Millis, UserId};

/// How far an auction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuctionState {
    /// Starts later.
    Future,
    /// Is being held.
    Running,
    /// Is over.
    Complete,
}

/// An auction, in lists and alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auction {
    /// Names the auction.
    pub id: AuctionId,
    /// Its title.
    pub name: String,
    /// What kind of things it sells.
    pub category: String,
    /// How far it is.
    pub state: AuctionState,
    /// When it begins or began.
    pub start_ms: Millis,
    /// When it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<Millis>,
    /// Who holds it.
    pub auctioneer_id: UserId,
}
