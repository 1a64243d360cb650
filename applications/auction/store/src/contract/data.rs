//! The small data set of the suites: twelve users, six auctions in all states, and histories of some users.

use std::borrow::Cow;

use crate::{
    AttendanceRow, AuctionRow, BidRow, CLOCK_START_MS, EventBatch, HighBidRow, ImageRow, ItemRow,
    RelationalBatch, UserRow, codes,
};

/// Users 1 to 12; the last may not log in.
pub(super) const USERS: i64 = 12;
/// Credit of each user, in cents.
pub(super) const CREDIT: i64 = 100_000;
/// An auction with an open bidding for item 1; its items are 1 to 4.
pub(super) const ONGOING: i64 = 1;
/// A running auction without a listing so far; its items are 5 to 7.
pub(super) const UNTOUCHED: i64 = 2;
/// A running auction that sold item 8 and has item 9 left.
pub(super) const BETWEEN: i64 = 3;
/// Begins a minute after the clock's start; its items are 10 and 11.
pub(super) const SOON: i64 = 4;
/// Begins two minutes after the clock's start; it has no items.
pub(super) const LATER: i64 = 5;
/// Is over: items 12 to 14 were sold.
pub(super) const OVER: i64 = 6;
/// All running auctions.
pub(super) const RUNNING: [i64; 3] = [ONGOING, UNTOUCHED, BETWEEN];
/// The first id that no row of the data set uses.
pub(super) const FREE_ID: i64 = 1_000;

/// Sales in [`OVER`]: listing, item, buyer, amount, time.
const SALES: [(i64, i64, i64, i64, i64); 3] = [
    (61, 12, 2, 5_000, CLOCK_START_MS - 3_000_000),
    (62, 13, 2, 6_000, CLOCK_START_MS - 2_000_000),
    (63, 14, 3, 7_000, CLOCK_START_MS - 1_000_000),
];

/// One-line descriptions, by item from 1. Their words serve the searches.
const DESCRIPTIONS: [&str; 18] = [
    "Brass lamp with a green shade",
    "lamp, oak; about the size of a chair",
    "The OAK chair",
    "state-of-the-art radio 1930",
    "Radio cabinet of walnut",
    "brass clock",
    "Clock (walnut), not working",
    "walnut chair",
    "a lamp that is not a lamp",
    "blue vase",
    "red vase",
    "green vase",
    "oaken barrel",
    "radiogram",
    "lampshade",
    "Chairs, set of four",
    "clockwork mouse",
    "50% wool blanket",
];

fn user(id: i64) -> UserRow {
    UserRow {
        id,
        name: format!("user{id}@example.org"),
        password: format!("$argon2id$v=19$m=8,t=1,p=1$salt${id}"),
        first_name: Cow::Borrowed("Ada"),
        last_name: Cow::Owned(format!("Number {id}")),
        credit_cents: CREDIT,
        enabled: id != USERS,
    }
}

fn auction(id: i64, name: &'static str, state: i64, start_ms: i64) -> AuctionRow {
    let end_ms = (state == codes::auction::COMPLETE).then_some(CLOCK_START_MS - 900_000);
    let category = if id % 2 == 0 { "Furniture" } else { "Odds and ends" };
    AuctionRow {
        id,
        name: Cow::Borrowed(name),
        category: Cow::Borrowed(category),
        start_ms,
        end_ms,
        state,
        auctioneer_id: 1,
    }
}

fn item(id: i64) -> ItemRow {
    let (auction_id, state) = match id {
        1 => (Some(ONGOING), codes::item::ACTIVE),
        2..=4 => (Some(ONGOING), codes::item::IN_AUCTION),
        5..=7 => (Some(UNTOUCHED), codes::item::IN_AUCTION),
        8 => (Some(BETWEEN), codes::item::SOLD),
        9 => (Some(BETWEEN), codes::item::IN_AUCTION),
        10 | 11 => (Some(SOON), codes::item::IN_AUCTION),
        12..=14 => (Some(OVER), codes::item::SOLD),
        _ => (None, codes::item::NOT_LISTED),
    };
    ItemRow {
        id,
        auction_id,
        auctioneer_id: 1 + id % 2,
        condition: id % 7,
        manufacturer: Cow::Borrowed("Müller & Söhne"),
        short_description: DESCRIPTIONS[id as usize - 1].to_owned(),
        long_description: format!("Item {id}; it's \"as seen\" \\ no return. ☂"),
        origin_ms: id * 1_000_000_000,
        starting_bid_cents: id * 100,
        state,
    }
}

fn sale(
    auction_id: i64,
    (id, item_id, bidder_id, amount_cents, end): (i64, i64, i64, i64, i64),
) -> HighBidRow {
    HighBidRow {
        id,
        auction_id,
        item_id,
        bidder_id,
        amount_cents,
        state: codes::high_bid::SOLD,
        sequence: 4,
        start_ms: end - 90_000,
        end_ms: Some(end),
        bid_ms: end - 60_000,
        bid_id: id * 10,
        round: id % 10,
        fence: 0,
    }
}

/// The open listing of [`ONGOING`]: user 3 leads.
pub(super) fn open_listing() -> HighBidRow {
    HighBidRow {
        id: 11,
        auction_id: ONGOING,
        item_id: 1,
        bidder_id: 3,
        amount_cents: 700,
        state: codes::high_bid::OPEN,
        sequence: 3,
        start_ms: CLOCK_START_MS - 20_000,
        end_ms: None,
        bid_ms: CLOCK_START_MS - 5_000,
        bid_id: 5,
        round: 1,
        fence: 0,
    }
}

/// The last listing of [`BETWEEN`]: over before the clock's start.
pub(super) fn closed_listing() -> HighBidRow {
    sale(BETWEEN, (31, 8, 4, 900, CLOCK_START_MS - 10_000))
}

/// The relational part, in two batches.
#[must_use]
pub fn relational_data() -> Vec<RelationalBatch> {
    use codes::auction::{COMPLETE, FUTURE, RUNNING};
    let users = RelationalBatch { users: (1..=USERS).map(user).collect(), ..RelationalBatch::default() };
    let mut high_bids = vec![open_listing(), closed_listing()];
    high_bids.extend(SALES.map(|s| sale(OVER, s)));
    let auctions = vec![
        auction(ONGOING, "Lamps and Chairs", RUNNING, CLOCK_START_MS - 60_000),
        auction(UNTOUCHED, "100% Walnut", RUNNING, CLOCK_START_MS),
        auction(BETWEEN, "under_score", RUNNING, CLOCK_START_MS - 120_000),
        auction(SOON, "Vases at 1000", FUTURE, CLOCK_START_MS + 60_000),
        auction(LATER, "underXscore", FUTURE, CLOCK_START_MS + 120_000),
        auction(OVER, "old LAMPS", COMPLETE, CLOCK_START_MS - 9_000_000),
    ];
    let rest =
        RelationalBatch { auctions, items: (1..=18).map(item).collect(), high_bids, users: Vec::new() };
    vec![users, rest]
}

/// A bid in [`OVER`], long ago.
pub(super) fn old_bid(id: i64, bidder_id: i64, bid_ms: i64) -> BidRow {
    BidRow {
        id,
        bidder_id,
        bid_ms,
        auction_id: OVER,
        item_id: 12,
        listing: 61,
        amount_cents: 4_000 + id,
        state: codes::bid::HIGH,
        sequence: 2,
        fence: 0,
    }
}

/// A loaded visit.
pub(super) fn old_visit(id: i64, user_id: i64, auction_id: i64) -> AttendanceRow {
    let state =
        if auction_id == OVER { codes::attendance::AUCTION_COMPLETE } else { codes::attendance::LEFT };
    AttendanceRow {
        id,
        user_id,
        record_ms: CLOCK_START_MS - 1_000_000 + id / 2,
        auction_id,
        auction_name: Cow::Borrowed("old LAMPS"),
        state: if id == 50 { codes::attendance::ATTENDING } else { state },
    }
}

fn image(id: i64, item_id: i64, number: i64) -> ImageRow {
    ImageRow { id, item_id, number, sizes: codes::image::PREVIEW, created_ms: CLOCK_START_MS - 1 }
}

/// The event part, in two batches: bids of users 2 and 3, visits of users 2 and 4 (who is still present in
/// `ONGOING` by record 50), images of items 1 and 2.
#[must_use]
pub fn event_data() -> Vec<EventBatch> {
    // Pairs of bids at the same time, to test the order within them; neither ids nor times are in order.
    let mut bids: Vec<BidRow> =
        (100..123).rev().map(|id| old_bid(id, 2, CLOCK_START_MS - 5_000_000 + id / 2 * 1_000)).collect();
    let open = open_listing();
    bids.push(BidRow {
        id: open.bid_id,
        bidder_id: open.bidder_id,
        bid_ms: open.bid_ms,
        auction_id: open.auction_id,
        item_id: open.item_id,
        listing: open.id,
        amount_cents: open.amount_cents,
        state: codes::bid::HIGH,
        sequence: open.sequence,
        fence: 0,
    });
    let mut attendance: Vec<AttendanceRow> = (40..47).map(|id| old_visit(id, 2, OVER - id % 2)).collect();
    attendance.push(old_visit(50, 4, ONGOING));
    let images = vec![image(72, 1, 1), image(71, 1, 0), image(73, 2, 0), image(74, 1, 1)];
    let first = EventBatch { bids, ..EventBatch::default() };
    vec![first, EventBatch { attendance, images, bids: Vec::new() }]
}
