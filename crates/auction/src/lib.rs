//! The auction benchmark application: REST resources, auctioneer, stores, caches, fill.
//!
//! [`serve`] runs it on a filled folder. The path of a bid: the resource asks for the bidder's credit and puts the bid
//! in the queue; the auctioneer, the one owner of all auctions, decides; the publisher stores the decision in both
//! stores and then puts it on the bus, where it wakes whoever polls for it.

mod app;
mod auctioneer;
mod auth;
mod bus;
mod cache;
mod check;
mod clock;
mod codes;
pub mod fill;
mod images;
pub mod live;
mod publisher;
mod schema;
mod server;
pub mod sizes;
mod store;

pub use app::StartError;
pub use server::{ServeConfig, ServeError, serve};
pub use store::StoreError;
