//! What operations people ask: is it ready, is its data right.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Answer to `GET /healthCheck`: 200 when ready, 503 when not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether requests are served as they should be.
    pub ready: bool,
    /// Why not, when not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Auctions being held.
    pub running_auctions: u64,
    /// Milliseconds since 1970 on the application's clock.
    pub now_ms: i64,
    /// How the stores write, in words.
    pub durability: String,
}

/// How much the data checks looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckCounts {
    /// Times an item was offered or is on offer in this run.
    pub offers: u64,
    /// Bids accepted in this run.
    pub bids: u64,
    /// Items sold in this run.
    pub sales: u64,
    /// Bid updates published in this run.
    pub updates: u64,
    /// Users present when the application started.
    pub users: u64,
}

/// Answer to `GET /check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Whether nothing was found.
    pub ok: bool,
    /// What is wrong, in words; at most 20 of each kind.
    pub findings: Vec<String>,
    /// How much was looked at.
    pub counts: CheckCounts,
}
