//! The wire contract of the auction benchmark application: types, routes, OpenAPI text.
//!
//! Everything on the wire is JSON with camelCase keys. Money is whole cents in fields that end in `Cents`,
//! time is milliseconds since 1970 on the application's clock in fields that end in `Ms`. The session token
//! travels in the header [`TOKEN_HEADER`]. Every answer of status 400 and above carries an [`ErrorBody`].

mod attendance;
mod auction;
mod bid;
mod error;
mod ids;
mod item;
mod openapi;
mod ops;
mod page;
pub mod routes;
mod user;

pub use attendance::{AttendanceRecord, AttendanceState, JoinRequest};
pub use auction::{Auction, AuctionState};
pub use bid::{BidAccepted, BidOutcome, BidRecord, BidRequest, BidState, BidUpdate};
pub use error::{ErrorBody, ErrorCode};
pub use ids::{AuctionId, Cents, ImageId, ItemId, Millis, UserId};
pub use item::{
    Condition, ImageLink, ImageQuery, ImageSize, Item, ItemState, NewItem, Purchase, PurchaseQuery,
};
pub use openapi::{openapi, openapi_json};
pub use ops::{CheckCounts, CheckReport, Health};
pub use page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Page, PageQuery};
pub use user::{LoginRequest, LoginResponse, NewUser, User, UserUpdate};

/// The request header that carries the session token.
pub const TOKEN_HEADER: &str = "API_TOKEN";
