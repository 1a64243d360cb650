//! Where the resources are: one constant per resource for the server, one function per path for clients.

use crate::{AuctionId, ImageId, ImageSize, ItemId, UserId};

/// Every path of the application begins with this.
pub const BASE: &str = "/auction";

/// Start page, public. Relative to [`BASE`], like all constants that follow.
pub const HOME: &str = "/";
/// `POST`: log in, public.
pub const LOGIN: &str = "/login";
/// `GET`: log out.
pub const LOGOUT: &str = "/logout";
/// `POST`: register, public.
pub const USERS: &str = "/user";
/// `GET`, `PUT`: profile.
pub const USER: &str = "/user/{id}";
/// `GET`: page of running auctions; `POST`: join one.
pub const LIVE_AUCTIONS: &str = "/live/auction";
/// `DELETE`: leave an auction.
pub const LIVE_AUCTION: &str = "/live/auction/{auctionId}";
/// `GET`: page of all auctions.
pub const AUCTIONS: &str = "/auction";
/// `GET`: one auction.
pub const AUCTION: &str = "/auction/{id}";
/// `POST`: add an item.
pub const ITEMS: &str = "/item";
/// `GET`: one item.
pub const ITEM: &str = "/item/{id}";
/// `GET`: page of an auction's items.
pub const AUCTION_ITEMS: &str = "/item/auction/{auctionId}";
/// `GET`: the item on sale now; waits up to 10 s between two items.
pub const CURRENT_ITEM: &str = "/item/current/auction/{auctionId}";
/// `GET`: page of a user's purchases.
pub const PURCHASES: &str = "/item/user/{userId}/purchased";
/// `GET`: an image of an item.
pub const IMAGE: &str = "/item/{id}/image/{imageId}";
/// `POST`: place a bid.
pub const BIDS: &str = "/bid";
/// `GET`: long poll for the bid after a sequence number.
pub const NEXT_BID: &str = "/bid/auction/{auctionId}/item/{itemId}/count/{count}";
/// `GET`: page of a user's bids.
pub const USER_BIDS: &str = "/bid/user/{userId}";
/// `GET`: page of a user's attendances.
pub const USER_ATTENDANCE: &str = "/attendance/user/{userId}";
/// `GET`: ready or not, public.
pub const HEALTH: &str = "/healthCheck";
/// `GET`: data checks, public, for operations use.
pub const CHECK: &str = "/check";
/// `GET`: the OpenAPI document, public.
pub const OPENAPI: &str = "/openapi.json";

/// A page of a list, as a query string.
fn paged(path: &str, page: u32, page_size: u32) -> String {
    format!("{BASE}{path}?page={page}&pageSize={page_size}")
}

/// Path of the start page.
#[must_use]
pub fn home() -> String {
    format!("{BASE}{HOME}")
}

/// Path to log in.
#[must_use]
pub fn login() -> String {
    format!("{BASE}{LOGIN}")
}

/// Path to log out.
#[must_use]
pub fn logout() -> String {
    format!("{BASE}{LOGOUT}")
}

/// Path to register.
#[must_use]
pub fn users() -> String {
    format!("{BASE}{USERS}")
}

/// Path of a profile.
#[must_use]
pub fn user(id: UserId) -> String {
    format!("{BASE}/user/{id}")
}

/// Path of a page of running auctions.
#[must_use]
pub fn live_auctions(page: u32, page_size: u32) -> String {
    paged(LIVE_AUCTIONS, page, page_size)
}

/// Path to join an auction.
#[must_use]
pub fn join() -> String {
    format!("{BASE}{LIVE_AUCTIONS}")
}

/// Path to leave an auction.
#[must_use]
pub fn leave(auction: AuctionId) -> String {
    format!("{BASE}/live/auction/{auction}")
}

/// Path of a page of all auctions.
#[must_use]
pub fn auctions(page: u32, page_size: u32) -> String {
    paged(AUCTIONS, page, page_size)
}

/// Path of an auction.
#[must_use]
pub fn auction(id: AuctionId) -> String {
    format!("{BASE}/auction/{id}")
}

/// Path to add an item.
#[must_use]
pub fn items() -> String {
    format!("{BASE}{ITEMS}")
}

/// Path of an item.
#[must_use]
pub fn item(id: ItemId) -> String {
    format!("{BASE}/item/{id}")
}

/// Path of a page of an auction's items.
#[must_use]
pub fn auction_items(auction: AuctionId, page: u32, page_size: u32) -> String {
    paged(&format!("/item/auction/{auction}"), page, page_size)
}

/// Path of the item on sale now.
#[must_use]
pub fn current_item(auction: AuctionId) -> String {
    format!("{BASE}/item/current/auction/{auction}")
}

/// Path of a page of a user's purchases.
#[must_use]
pub fn purchases(user: UserId, page: u32, page_size: u32) -> String {
    paged(&format!("/item/user/{user}/purchased"), page, page_size)
}

/// Path of an image without its size; this is the `href` of an image link.
#[must_use]
pub fn image_href(item: ItemId, image: ImageId) -> String {
    format!("{BASE}/item/{item}/image/{image}")
}

/// Path of an image in one size.
#[must_use]
pub fn image(item: ItemId, image: ImageId, size: ImageSize) -> String {
    format!("{BASE}/item/{item}/image/{image}?size={}", size.name())
}

/// Path to place a bid.
#[must_use]
pub fn bids() -> String {
    format!("{BASE}{BIDS}")
}

/// Path of the long poll for the bid after sequence number `count`; 0 is answered at once.
#[must_use]
pub fn next_bid(auction: AuctionId, item: ItemId, count: u32) -> String {
    format!("{BASE}/bid/auction/{auction}/item/{item}/count/{count}")
}

/// Path of a page of a user's bids.
#[must_use]
pub fn user_bids(user: UserId, page: u32, page_size: u32) -> String {
    paged(&format!("/bid/user/{user}"), page, page_size)
}

/// Path of a page of a user's attendances.
#[must_use]
pub fn user_attendance(user: UserId, page: u32, page_size: u32) -> String {
    paged(&format!("/attendance/user/{user}"), page, page_size)
}

/// Path of the health check.
#[must_use]
pub fn health() -> String {
    format!("{BASE}{HEALTH}")
}

/// Path of the data checks.
#[must_use]
pub fn check() -> String {
    format!("{BASE}{CHECK}")
}

/// Path of the OpenAPI document.
#[must_use]
pub fn openapi() -> String {
    format!("{BASE}{OPENAPI}")
}
