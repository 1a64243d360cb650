//! Every verb of every resource.

use super::endpoint::{
    AUCTION_SEARCH, Access, Body, Endpoint, ITEM_SEARCH, PAGE, Request, SIZE, SPAN, delete, get, json,
    page_of, post, public, put,
};
use crate::{
    AttendanceRecord, Auction, BidAccepted, BidRecord, BidRequest, BidUpdate, CheckReport, ClusterView,
    Drain, Health, ImageAccepted, Item, ItemUpdate, JoinRequest, Leadership, LoginRequest, LoginResponse,
    NewItem, NewUser, Purchase, User, UserUpdate, routes,
};

/// All of them, in the order of the document.
pub(super) fn all() -> Vec<Endpoint> {
    let families = [sessions_and_users(), auctions(), items(), images(), bids(), operations()];
    families.into_iter().flatten().collect()
}

fn sessions_and_users() -> Vec<Endpoint> {
    vec![
        public(routes::HOME, "Start page", Body::Text("text/html")),
        Endpoint {
            access: Access::Public,
            ..post::<LoginRequest>(routes::LOGIN, "Log in and get a token", json::<LoginResponse>())
        },
        Endpoint {
            status: 204,
            errors: &[401, 503],
            ..get(
                routes::LOGOUT,
                "End the session and mark the caller's open attendances as left",
                Body::Nothing,
            )
        },
        Endpoint {
            access: Access::Public,
            errors: &[400, 408, 409, 413, 415, 503],
            ..post::<NewUser>(routes::USERS, "Register", json::<User>())
        },
        Endpoint {
            errors: &[400, 401, 403, 404, 503],
            ..get(routes::USER, "The caller's profile", json::<User>())
        },
        put::<UserUpdate>(routes::USER, "Change the caller's profile", json::<User>()),
        Endpoint {
            errors: &[400, 401, 403, 404, 503],
            ..delete(routes::USER, "Remove the caller's account; its token is void afterwards")
        },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 403, 503],
            ..get(
                routes::USER_ATTENDANCE,
                "The caller's attendances, latest first",
                page_of::<AttendanceRecord>(),
            )
        },
    ]
}

fn auctions() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: PAGE,
            ..get(routes::LIVE_AUCTIONS, "Auctions being held, by id", page_of::<Auction>())
        },
        Endpoint {
            errors: &[400, 401, 403, 404, 408, 409, 410, 413, 415, 503],
            ..post::<JoinRequest>(routes::LIVE_AUCTIONS, "Join an auction", json::<AttendanceRecord>())
        },
        Endpoint { errors: &[400, 401, 409, 503], ..delete(routes::LIVE_AUCTION, "Leave an auction") },
        Endpoint {
            query: AUCTION_SEARCH,
            ..get(routes::AUCTIONS, "All auctions that match, by id", page_of::<Auction>())
        },
        Endpoint { errors: &[400, 401, 404, 503], ..get(routes::AUCTION, "One auction", json::<Auction>()) },
    ]
}

fn items() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: ITEM_SEARCH,
            ..get(routes::ITEMS, "All items that match, by id", page_of::<Item>())
        },
        post::<NewItem>(routes::ITEMS, "Add an item of the caller that no auction lists yet", json::<Item>()),
        Endpoint { errors: &[400, 401, 404, 503], ..get(routes::ITEM, "One item", json::<Item>()) },
        put::<ItemUpdate>(
            routes::ITEM,
            "Change an item of the caller that no auction lists yet",
            json::<Item>(),
        ),
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 404, 503],
            ..get(routes::AUCTION_ITEMS, "Items of an auction, by id", page_of::<Item>())
        },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 404, 503],
            ..get(routes::SELLER_ITEMS, "Items of a seller, latest first", page_of::<Item>())
        },
        Endpoint {
            errors: &[400, 401, 404, 410, 503],
            ..get(
                routes::CURRENT_ITEM,
                "The item on sale now; waits up to 10 s between two items",
                json::<Item>(),
            )
        },
        Endpoint {
            query: SPAN,
            errors: &[400, 401, 403, 503],
            ..get(routes::PURCHASES, "What the caller bought, latest first", page_of::<Purchase>())
        },
    ]
}

fn images() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Request::Upload,
            status: 202,
            errors: &[400, 401, 403, 404, 406, 408, 409, 413, 415, 503],
            ..post::<ImageAccepted>(
                routes::IMAGES,
                "Add an image to an item of the caller",
                json::<ImageAccepted>(),
            )
        },
        Endpoint {
            query: SIZE,
            errors: &[400, 401, 404, 503],
            ..get(routes::IMAGE, "An image of the item", Body::Picture)
        },
        Endpoint {
            errors: &[400, 404, 503],
            also: &[304],
            ..public(
                routes::PUBLIC_IMAGE,
                "The same picture for everybody; it never changes and may be kept",
                Body::Picture,
            )
        },
    ]
}

fn bids() -> Vec<Endpoint> {
    vec![
        Endpoint {
            status: 202,
            errors: &[400, 401, 403, 404, 408, 409, 410, 413, 415, 503],
            ..post::<BidRequest>(
                routes::BIDS,
                "Place a bid; its result comes with the polls and the events",
                json::<BidAccepted>(),
            )
        },
        Endpoint {
            errors: &[400, 401, 404, 408, 410, 503],
            ..get(
                routes::NEXT_BID,
                "The state of the bidding once its sequence number exceeds count; held at most 45 s",
                json::<BidUpdate>(),
            )
        },
        Endpoint {
            errors: &[400, 401, 404, 410, 503],
            ..get(
                routes::BID_EVENTS,
                "The state of the bidding at once and after each change: events `bid` with a BidUpdate, ids \
                 ROUND-SEQUENCE, a comment every 15 s, `stopping` at the end",
                Body::Text("text/event-stream"),
            )
        },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 403, 503],
            ..get(routes::USER_BIDS, "The caller's bids, latest first", page_of::<BidRecord>())
        },
    ]
}

fn operations() -> Vec<Endpoint> {
    vec![
        public(routes::IS_MASTER, "Who leads the nodes", json::<Leadership>()),
        public(
            routes::PREPARE_FOR_SHUTDOWN,
            "Make the node hand its auctions over and take no others; ask again until it is ready",
            json::<Drain>(),
        ),
        Endpoint { status: 204, ..public(routes::RELEASE, "Let all go who wait at the node", Body::Nothing) },
        public(routes::CLUSTER, "The nodes, as the answering one last saw them", json::<ClusterView>()),
        Endpoint {
            also: &[503],
            ..public(routes::HEALTH, "Whether the application is ready", json::<Health>())
        },
        Endpoint { status: 204, ..public(routes::ALIVE, "Whether the process serves", Body::Nothing) },
        public(
            routes::METRICS,
            "Figures in the text format of OpenMetrics, for Prometheus",
            Body::Text("application/openmetrics-text"),
        ),
        Endpoint {
            errors: &[503],
            ..public(routes::CHECK, "Check that the data are right", json::<CheckReport>())
        },
        public(routes::OPENAPI, "This document", Body::Text("application/json")),
    ]
}
