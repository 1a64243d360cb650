//! Routes of the resources: one constant per resource for the server, one function per path for clients.

mod paths;

pub use paths::*;

/// Common prefix of all paths of the application.
pub const BASE: &str = "/auction";

/// Start page, public. Relative to [`BASE`], like all constants that follow.
pub const HOME: &str = "/";
/// `POST`: log in, public.
pub const LOGIN: &str = "/login";
/// `GET`: log out.
pub const LOGOUT: &str = "/logout";
/// `POST`: register, public.
pub const USERS: &str = "/user";
/// `GET`, `PUT`, `DELETE`: profile.
pub const USER: &str = "/user/{id}";
/// `GET`: page of running auctions; `POST`: join one.
pub const LIVE_AUCTIONS: &str = "/live/auction";
/// `DELETE`: leave an auction.
pub const LIVE_AUCTION: &str = "/live/auction/{auctionId}";
/// `GET`: the leader, public, for operators.
pub const IS_MASTER: &str = "/live/auction/isMaster";
/// `GET`: begin to drain the node, public, for operators.
pub const PREPARE_FOR_SHUTDOWN: &str = "/live/auction/prepareForShutdown";
/// `GET`: end all waiting requests, public, for operators.
pub const RELEASE: &str = "/live/auction/release";
/// `GET`: page of all auctions, with filters.
pub const AUCTIONS: &str = "/auction";
/// `GET`: one auction.
pub const AUCTION: &str = "/auction/{id}";
/// `GET`: search items; `POST`: add one.
pub const ITEMS: &str = "/item";
/// `GET`: one item; `PUT`: change it.
pub const ITEM: &str = "/item/{id}";
/// `GET`: page of an auction's items.
pub const AUCTION_ITEMS: &str = "/item/auction/{auctionId}";
/// `GET`: page of a seller's items.
pub const SELLER_ITEMS: &str = "/item/auctioneer/{id}";
/// `GET`: the item on sale now; waits up to 10 s between two items.
pub const CURRENT_ITEM: &str = "/item/current/auction/{auctionId}";
/// `GET`: page of a user's purchases.
pub const PURCHASES: &str = "/item/user/{userId}/purchased";
/// `POST`: add an image to an item.
pub const IMAGES: &str = "/item/{id}/image";
/// `GET`: an image of an item.
pub const IMAGE: &str = "/item/{id}/image/{imageId}";
/// `GET`: the same picture, public and cacheable.
pub const PUBLIC_IMAGE: &str = "/image/{imageId}/{size}";
/// `POST`: place a bid.
pub const BIDS: &str = "/bid";
/// `GET`: long poll for the bid after a sequence number.
pub const NEXT_BID: &str = "/bid/auction/{auctionId}/item/{itemId}/count/{count}";
/// `GET`: the bidding of an auction as server-sent events.
pub const BID_EVENTS: &str = "/bid/auction/{auctionId}/events";
/// `GET`: page of a user's bids.
pub const USER_BIDS: &str = "/bid/user/{userId}";
/// `GET`: page of a user's attendances.
pub const USER_ATTENDANCE: &str = "/attendance/user/{userId}";
/// `GET`: readiness, public.
pub const HEALTH: &str = "/healthCheck";
/// `GET`: whether the process serves, public.
pub const ALIVE: &str = "/alive";
/// `GET`: live nodes and leader, public, for operators.
pub const CLUSTER: &str = "/cluster";
/// `GET`: figures in the text format of OpenMetrics, for Prometheus, public.
pub const METRICS: &str = "/metrics";
/// `GET`: data checks, public, for operators.
pub const CHECK: &str = "/check";
/// `GET`: the OpenAPI document, public.
pub const OPENAPI: &str = "/openapi.json";
/// `GET`: the browser application, public; its files are below.
pub const UI: &str = "/ui/";
