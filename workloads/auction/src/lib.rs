//! The auction workload: twenty operations, behaviours, profiles, its data, and the parts of its application.
//!
//! A user signs in, looks for the two auctions it shares with its neighbours, joins them, follows each of
//! them with an asynchronous activity that waits for the next bid, and meanwhile browses, bids and adds items
//! until it signs out. Transitions, pace and limits are data in [`profile`](mod@profile); `act` executes each
//! operation, and `follow` those of the activity beside, which gets news of bids in one of two ways
//! ([`BidUpdates`]). The workload reads no clock and counts nothing; the engine does.

mod act;
mod bidding;
mod choose;
mod fill;
mod follow;
pub mod ops;
mod plan;
pub mod profile;
mod programs;
mod questions;
mod seam;
mod state;
mod topology;
mod transport;
mod usual;
mod view;

use barograph_engine::UserFactory;
use barograph_model::UserId;

pub use follow::BidUpdates;
pub use seam::Auctions;
pub use state::AuctionUser;
pub use transport::{ConnectionReuse, Feed, Http, HttpLine, Line, Transport};

/// Version of the workload. It rises with every change that can move results; runs of different versions are
/// not compared.
pub const VERSION: u32 = 1;

/// Most connections of a user at once.
pub const CONNECTIONS_PER_USER: u32 = 4;

/// Accounts per user of the driver, one of them per session, so that histories of many accounts are read. The
/// data hold as many accounts per admitted user.
pub const ACCOUNTS_PER_USER: u32 = 5;

/// The auction workload over any transport.
pub struct Auction<T> {
    transport: T,
    max_users: u32,
    news: BidUpdates,
}

impl<T: Transport> Auction<T> {
    /// A workload over `transport` to an application with data for `max_users`: accounts 1 to
    /// [`ACCOUNTS_PER_USER`] times that number exist. News of bids come by long poll.
    pub fn new(transport: T, max_users: u32) -> Self {
        Auction { transport, max_users, news: BidUpdates::Polled }
    }

    /// Sets the source of news of bids.
    #[must_use]
    pub fn hearing(self, news: BidUpdates) -> Self {
        Auction { news, ..self }
    }
}

impl<T: Transport> UserFactory for Auction<T> {
    type User = AuctionUser<T::Line>;

    fn user(&self, id: UserId) -> Self::User {
        AuctionUser::new(self.transport.line(id), id, self.max_users, self.news)
    }
}
