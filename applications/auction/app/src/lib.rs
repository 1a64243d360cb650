//! The auction benchmark application: REST resources, auctioneer, cluster, caches, fill.
//!
//! [`serve`] runs a node. A bid passes these steps: the resource reads the bidder's credit and sends the bid
//! to the node that owns the auction; its auctioneer decides; its publisher stores the decision and then
//! publishes it, which wakes the followers of the auction on every node.

mod alarm;
mod app;
mod auctioneer;
mod auth;
mod cache;
mod channels;
mod check;
mod clock;
mod cluster;
pub mod fill;
mod hear;
mod ids;
pub mod load;
mod messages;
mod metrics;
mod publisher;
mod server;
mod settings;
mod share;
pub mod sizes;
mod stores;

pub use app::StartError;
pub use barograph_auction_api::Role;
pub use barograph_auction_store::StoreError;
pub use barograph_store_images::{Limits, PictureLocation};
pub use server::{ServeError, serve};
pub use settings::{MOST_THREADS, Peers, Secret, ServeConfig, Stores};
