//! Auctions and their states.

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

/// Query of `GET /auction`: what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuctionQuery {
    /// With this text in the name, whatever the case. At most [`crate::MAX_SEARCH`] characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// In this category, exactly. At most [`crate::MAX_CATEGORY`] characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// In this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<AuctionState>,
    /// Number of the page, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Entries per page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
}
