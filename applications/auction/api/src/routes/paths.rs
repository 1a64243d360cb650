//! One function per path, for clients.

use std::fmt::Write;

use serde::Serialize;

use super::*;
use crate::{AuctionId, AuctionQuery, ImageId, ImageSize, ItemId, ItemQuery, UserId};

/// A path being extended by its query string, part by part.
struct QueryPath(String);

impl QueryPath {
    fn new(path: &str) -> QueryPath {
        QueryPath(format!("{BASE}{path}"))
    }

    /// Adds a text, if there is one.
    fn text(&mut self, key: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0.push_str(key);
        self.0.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                self.0.push(char::from(byte));
            } else {
                write!(self.0, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
    }

    /// Adds a number or one of a list of words, if there is one, in its JSON form.
    fn word<T: Serialize>(&mut self, key: &str, value: Option<&T>) {
        let word = value.and_then(|value| serde_json::to_string(value).ok());
        self.text(key, word.as_deref().map(|word| word.trim_matches('"')));
    }
}

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

/// Path of the leader.
#[must_use]
pub fn is_master() -> String {
    format!("{BASE}{IS_MASTER}")
}

/// Path that begins to drain the node.
#[must_use]
pub fn prepare_for_shutdown() -> String {
    format!("{BASE}{PREPARE_FOR_SHUTDOWN}")
}

/// Path to end all waiting requests.
#[must_use]
pub fn release() -> String {
    format!("{BASE}{RELEASE}")
}

/// Path of a page of all auctions.
#[must_use]
pub fn auctions(page: u32, page_size: u32) -> String {
    paged(AUCTIONS, page, page_size)
}

/// Path of a page of auctions that match.
#[must_use]
pub fn search_auctions(query: &AuctionQuery) -> String {
    let mut path = QueryPath::new(AUCTIONS);
    path.text("text", query.text.as_deref());
    path.text("category", query.category.as_deref());
    path.word("state", query.state.as_ref());
    path.word("page", query.page.as_ref());
    path.word("pageSize", query.page_size.as_ref());
    path.0
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

/// Path of a page of items that match.
#[must_use]
pub fn search_items(query: &ItemQuery) -> String {
    let mut path = QueryPath::new(ITEMS);
    path.text("text", query.text.as_deref());
    path.word("state", query.state.as_ref());
    path.word("condition", query.condition.as_ref());
    path.word("fromCents", query.from_cents.as_ref());
    path.word("toCents", query.to_cents.as_ref());
    path.word("page", query.page.as_ref());
    path.word("pageSize", query.page_size.as_ref());
    path.0
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

/// Path of a page of a seller's items.
#[must_use]
pub fn seller_items(seller: UserId, page: u32, page_size: u32) -> String {
    paged(&format!("/item/auctioneer/{seller}"), page, page_size)
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

/// Path to add an image to an item.
#[must_use]
pub fn images(item: ItemId) -> String {
    format!("{BASE}/item/{item}/image")
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

/// Path of an image in one size, without a token.
#[must_use]
pub fn public_image(image: ImageId, size: ImageSize) -> String {
    format!("{BASE}/image/{image}/{}", size.name())
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

/// Path of the bidding of an auction as server-sent events.
#[must_use]
pub fn bid_events(auction: AuctionId) -> String {
    format!("{BASE}/bid/auction/{auction}/events")
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

/// Path that answers as long as the process serves.
#[must_use]
pub fn alive() -> String {
    format!("{BASE}{ALIVE}")
}

/// Path of the cluster's state.
#[must_use]
pub fn cluster() -> String {
    format!("{BASE}{CLUSTER}")
}

/// Path of the figures for Prometheus.
#[must_use]
pub fn metrics() -> String {
    format!("{BASE}{METRICS}")
}

/// Path of the browser application.
#[must_use]
pub fn ui() -> String {
    format!("{BASE}{UI}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuctionState, Condition, ItemState};

    #[test]
    fn searches_are_written_as_query_strings() {
        assert_eq!(search_items(&ItemQuery::default()), "/auction/item");
        let items = ItemQuery {
            text: Some("oak & ödd".to_owned()),
            state: Some(ItemState::NotListed),
            condition: Some(Condition::LikeNew),
            from_cents: Some(5),
            page: Some(0),
            ..ItemQuery::default()
        };
        let expected =
            "/auction/item?text=oak%20%26%20%C3%B6dd&state=notListed&condition=likeNew&fromCents=5&page=0";
        assert_eq!(search_items(&items), expected);
        let auctions = AuctionQuery {
            category: Some("Art".to_owned()),
            state: Some(AuctionState::Running),
            page_size: Some(20),
            ..AuctionQuery::default()
        };
        assert_eq!(search_auctions(&auctions), "/auction/auction?category=Art&state=running&pageSize=20");
    }

    #[test]
    fn paths_agree_with_their_routes() {
        for (path, route) in [
            (public_image(ImageId(7), ImageSize::Preview), PUBLIC_IMAGE),
            (bid_events(AuctionId(7)), BID_EVENTS),
            (images(ItemId(7)), IMAGES),
            (seller_items(UserId(7), 0, 5), SELLER_ITEMS),
            (image(ItemId(7), ImageId(8), ImageSize::Full), IMAGE),
            (next_bid(AuctionId(7), ItemId(8), 9), NEXT_BID),
        ] {
            let path = path.split('?').next().unwrap();
            let parts: Vec<&str> = path.strip_prefix(BASE).unwrap().split('/').collect();
            let wanted: Vec<&str> = route.split('/').collect();
            assert_eq!(parts.len(), wanted.len(), "{path} {route}");
            assert!(parts.iter().zip(&wanted).all(|(p, w)| p == w || w.starts_with('{')), "{path} {route}");
        }
    }
}
