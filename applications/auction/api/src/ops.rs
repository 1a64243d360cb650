//! Resources for operators: readiness, leadership, data checks.

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
    /// The node that answers.
    pub node: String,
    /// What the node does.
    pub role: Role,
    /// What stands behind the node, one entry per tier.
    pub stores: Vec<StoreView>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Serves all resources and owns auctions.
    All,
    /// Serves all resources and owns no auctions.
    Application,
    /// Serves bids and the current item, and owns auctions.
    Bids,
}

/// A part of the system that keeps or carries something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// Users, auctions, items, high bids, leases.
    Relational,
    /// Bids, attendance, which images items have.
    Events,
    /// The pictures.
    Images,
    /// What nodes tell each other.
    Bus,
    /// What nodes keep in memory.
    Cache,
}

impl Tier {
    /// Its name on the wire and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tier::Relational => "relational",
            Tier::Events => "events",
            Tier::Images => "images",
            Tier::Bus => "bus",
            Tier::Cache => "cache",
        }
    }
}

/// What stands in a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreView {
    /// Which tier.
    pub tier: Tier,
    /// Product and version.
    pub product: String,
    /// What survives what, in words.
    pub durability: String,
}

/// Answer to `GET /live/auction/isMaster`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Leadership {
    /// The node that answers.
    pub node: String,
    /// Who leads, as far as it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Whether it is the node that answers.
    pub is_leader: bool,
}

/// Answer to `GET /live/auction/prepareForShutdown`: the node takes no auctions any more and hands its own over. Ask again
/// until it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// The node that answers.
    pub node: String,
    /// Auctions that it still owns.
    pub owned_auctions: u64,
    /// Whether it can be stopped: it owns none.
    pub ready: bool,
}

/// Whether a node wants auctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemberStanding {
    /// It takes part and owns auctions.
    Active,
    /// It takes no auctions: it drains, or it only serves.
    Idle,
}

/// A node that is alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// Its name.
    pub node: String,
    /// Whether it wants auctions.
    pub standing: MemberStanding,
}

/// Answer to `GET /cluster`: the cluster as the answering node last saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// The node that answers.
    pub node: String,
    /// What it does.
    pub role: Role,
    /// Who leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Who is alive, by name.
    pub members: Vec<MemberView>,
    /// Auctions the node owns.
    pub owned: u64,
    /// Auctions of other nodes that the node follows.
    pub followed: u64,
    /// Whether the node is connected to the bus.
    pub bus: BusState,
    /// Milliseconds since the node's last successful beat.
    pub last_seen_ms: u64,
}

/// Whether nodes can tell each other something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BusState {
    /// They can.
    Connected,
    /// The connection is lost; the node tries to get it back.
    Lost,
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
    /// Users that the stores were loaded with.
    pub users: u64,
    /// Open attendances looked at.
    #[serde(default)]
    pub attendances: u64,
    /// Bids that were proposed and never accepted, because their node lost the auction first.
    #[serde(default)]
    pub proposed: u64,
    /// Times the answering node asked an owner for the state of an auction, because it had missed something.
    #[serde(default)]
    pub resynced: u64,
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
