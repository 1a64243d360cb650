//! Interface of the register of nodes: members, leader, owners of auctions.
//!
//! It consists of leases in the relational store, on the store's clock, so that nodes need no common clock
//! and the project no consensus of its own. A node beats a few times per lease. The node with the leader's
//! lease leads; it alone assigns running auctions to members. A member claims an auction assigned to it,
//! which raises the auction's fence: from that moment nothing is applied under an older fence.

use barograph_auction_api::AuctionId;

use crate::StoreFuture;

/// Whether a node takes auctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It owns auctions.
    Active,
    /// It takes no auctions: it drains, or it only serves.
    Idle,
}

/// A beat of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The node.
    pub node: String,
    /// Whether it takes auctions.
    pub standing: Standing,
    /// Validity of the beat, in milliseconds of the store's clock.
    pub lease_ms: i64,
}

/// Answer to the registration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enlistment {
    /// A number unique among all nodes since the store was loaded, from 1. Ids made by the node contain it.
    pub number: i64,
    /// Milliseconds since the first registration after the store was loaded; the application's clock follows
    /// from it.
    pub since_start_ms: i64,
}

/// A node that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Whether it takes auctions.
    pub standing: Standing,
}

/// The cluster as of a beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The leader; the sender itself if the lease was free and it could take it. Idle nodes do not take it.
    pub leader: Option<String>,
    /// The live nodes, by name.
    pub members: Vec<Member>,
    /// Rises whenever an assignment, an owner or the set of running auctions changes.
    pub version: i64,
}

/// Assignment and ownership of a running auction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The auction.
    pub auction: AuctionId,
    /// The node that is to own it.
    pub assigned: Option<String>,
    /// The node that owns it.
    pub owner: Option<String>,
    /// Its fence; 0 before the first owner.
    pub fence: i64,
}

/// The register of nodes.
pub trait Registry: Send + Sync + 'static {
    /// Registers a node. A live one of the same name is replaced: its auctions are free from here on.
    fn enlist<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Enlistment>;

    /// Renews a node's lease. Fails with [`crate::StoreError::Closed`] if the node was replaced or is not
    /// registered.
    fn beat<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Cluster>;

    /// All running auctions, by id.
    fn assignments(&self) -> StoreFuture<'_, Vec<Assignment>>;

    /// Assigns auctions; has no effect unless `leader` still leads. Returns whether it did.
    fn assign<'a>(
        &'a self,
        leader: &'a str,
        moves: &'a [(AuctionId, String)],
    ) -> StoreFuture<'a, LeaderState>;

    /// Claims auctions that are assigned to the node, each under a new fence; returns the claimed ones, by
    /// id. Waits for transactions under the old fence that are being applied.
    fn claim<'a>(
        &'a self,
        node: &'a str,
        auctions: &'a [AuctionId],
    ) -> StoreFuture<'a, Vec<(AuctionId, i64)>>;

    /// Removes a node: its leases end at once.
    fn leave<'a>(&'a self, node: &'a str) -> StoreFuture<'a, ()>;
}

/// Whether the caller was the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderState {
    /// It was, and the request is done.
    Yes,
    /// It was not; nothing was done.
    No,
}
