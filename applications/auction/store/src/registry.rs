//! The seam to the register of nodes: who is alive, who leads, who owns which auction.
//!
//! It is a lease in the relational store, on the store's clock, so that nodes need no common clock and the project no
//! consensus of its own. A node beats a few times per lease. The leader is whoever holds the one leader's lease; it alone
//! assigns running auctions to members. A member that finds an auction assigned to it claims it, which raises the
//! auction's fence: from that moment nothing is applied under an older fence.

use barograph_auction_api::AuctionId;

use crate::Later;

/// Whether a node wants auctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It takes part and owns auctions.
    Active,
    /// It takes no auctions: it drains, or it only serves.
    Idle,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Who.
    pub node: String,
    /// Whether it wants auctions.
    pub standing: Standing,
    /// How long this sign counts, in milliseconds of the store's clock.
    pub lease_ms: i64,
}

/// What a node is told when it enlists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enlisted {
    /// A number no node had before since the store was loaded, from 1. Ids made by the node carry it.
    pub number: i64,
    /// Milliseconds since the first node enlisted after the store was loaded; the application's clock follows from it.
    pub since_start_ms: i64,
}

/// A node that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Whether it wants auctions.
    pub standing: Standing,
}

/// The cluster as of a beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Who leads; the sender itself when the lease was free and it could take it. Idle nodes do not take it.
    pub leader: Option<String>,
    /// Who is alive, by name.
    pub members: Vec<Member>,
    /// Rises whenever an assignment, an owner or the set of running auctions changes.
    pub version: i64,
}

/// Whose a running auction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The auction.
    pub auction: AuctionId,
    /// Who is to own it.
    pub assigned: Option<String>,
    /// Who owns it.
    pub owner: Option<String>,
    /// Under which fence; 0 when nobody has ever owned it.
    pub fence: i64,
}

/// The register.
pub trait Registry: Send + Sync + 'static {
    /// Enlists a node. One of the same name that is still alive is replaced: its auctions are free from here on.
    fn enlist<'a>(&'a self, beat: &'a Beat) -> Later<'a, Enlisted>;

    /// Says that a node is alive. Answers [`crate::StoreError::Closed`] when the node was replaced or is not enlisted.
    fn beat<'a>(&'a self, beat: &'a Beat) -> Later<'a, Cluster>;

    /// All running auctions, by id.
    fn assignments(&self) -> Later<'_, Vec<Assignment>>;

    /// The leader assigns auctions; nothing happens when `leader` does not lead any more. Answers whether it did.
    fn assign<'a>(&'a self, leader: &'a str, moves: &'a [(AuctionId, String)]) -> Later<'a, Led>;

    /// Claims auctions that are assigned to the node, each under a new fence; answers which, by id. Waits for
    /// transactions under the old fence that are being applied.
    fn claim<'a>(&'a self, node: &'a str, auctions: &'a [AuctionId]) -> Later<'a, Vec<(AuctionId, i64)>>;

    /// Strikes a node off: its leases end at once.
    fn leave<'a>(&'a self, node: &'a str) -> Later<'a, ()>;
}

/// Whether somebody led when it mattered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Led {
    /// It did, and what it asked for is done.
    Yes,
    /// Somebody else leads, or nobody; nothing was done.
    No,
}
