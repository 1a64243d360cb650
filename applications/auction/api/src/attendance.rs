//! Attendance of users at auctions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AuctionId, Millis, UserId};

/// Body of `POST /live/auction`: join an auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinRequest {
    /// The caller (403 when it is somebody else).
    pub user_id: UserId,
    /// The auction to join.
    pub auction_id: AuctionId,
}

/// Whether somebody is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum AttendanceState {
    /// Attends now.
    Attending,
    /// Has left.
    Left,
    /// Stayed until the auction was over.
    AuctionComplete,
}

/// One attendance of a user at an auction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttendanceRecord {
    /// Names the record.
    pub id: i64,
    /// Who attended.
    pub user_id: UserId,
    /// Which auction.
    pub auction_id: AuctionId,
    /// The auction's title.
    pub auction_name: String,
    /// When the user joined.
    pub record_ms: Millis,
    /// Whether the user is still there.
    pub state: AttendanceState,
}
