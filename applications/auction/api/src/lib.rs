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
mod image;
mod item;
mod limits;
mod openapi;
mod ops;
mod page;
pub mod routes;
mod user;
mod whole;

pub use attendance::{AttendanceRecord, AttendanceState, JoinRequest};
pub use auction::{Auction, AuctionQuery, AuctionState};
pub use bid::{BidAccepted, BidOutcome, BidRecord, BidRequest, BidState, BidUpdate};
pub use error::{ErrorBody, ErrorCode};
pub use ids::{AuctionId, Cents, ImageId, ItemId, Millis, UserId};
pub use image::{ImageAccepted, ImageLink, ImageQuery, ImageSize};
pub use item::{Condition, Item, ItemQuery, ItemState, ItemUpdate, NewItem, Purchase, PurchaseQuery};
pub use limits::*;
pub use openapi::{openapi, openapi_json};
pub use ops::{
    BusState, CheckCounts, CheckReport, ClusterView, Drain, Health, Leadership, MemberStanding, MemberView,
    Role, StoreView, Tier,
};
pub use page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Page, PageQuery};
pub use user::{LoginRequest, LoginResponse, NewUser, User, UserUpdate};

/// The request header that carries the session token.
pub const TOKEN_HEADER: &str = "API_TOKEN";
