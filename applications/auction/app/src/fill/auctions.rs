//! Rows of one auction: the auction, its items, bids, attendance and images.

use super::crew::FilledRows;
use super::layout::{AuctionPosition, Era, ITEM_MS, Layout};
use crate::sizes::{ATTENDEES_PER_AUCTION, BIDS_PER_ITEM};
use barograph_auction_store::{
    AttendanceRow, AuctionRow, BidRow, CLOCK_START_MS, EventBatch, HighBidRow, ImageRow, ItemRow, codes,
};
use barograph_data::{Stream, TruncatedNormal, names, text};
use rand::{Rng, RngExt};

/// Step between two bids of the past.
const HISTORY_STEP_CENTS: i64 = 2_000;
/// Time between two bids of the past; after the last one the item went through last call to its sale.
const HISTORY_BID_MS: i64 = 12_000;
/// Mean and standard deviation of starting bids, in cents.
const STARTING_BID_CENTS: (f64, f64) = (20_000.0, 20_000.0);
/// Lowest starting bid, in cents: one unit of money.
const LEAST_STARTING_BID_CENTS: f64 = 100.0;
/// Highest amount that is outbid: times 1.06 it reaches the ceiling of 1,000 units.
const LAST_BID_CENTS: f64 = 94_300.0;
/// Mean raise of a bid: a normal increase of 2 % with deviation 2 %, cut to 0.5-6 %.
const MEAN_RAISE: f64 = 1.0225;
/// Approximate time between two accepted bids of a running auction; the bidding in progress is dated back by
/// it.
const BID_EVERY_MS: i64 = 7_600;
/// From the last bid to the sale: the idle limit and the last call.
const CLOSING_MS: f64 = 60_000.0;
/// Number of conditions, from new to bad.
const CONDITIONS: i64 = 7;
/// Length of a year; items were made between 1970 and a year before the present.
const YEAR_MS: i64 = 31_556_952_000;

/// Adds the rows of an auction.
pub(super) fn add(layout: &Layout, place: AuctionPosition, made: &mut FilledRows) {
    let mut rng = layout.streams.stream("auction", place.id);
    let items = layout.items(place);
    let start_ms = layout.start_ms(place, &mut rng);
    let length = ITEM_MS * (items.end - items.start) as i64;
    let (state, end_ms) = match place.era {
        Era::Current => (codes::auction::RUNNING, None),
        Era::History => (codes::auction::COMPLETE, Some(start_ms + length)),
        Era::Future => (codes::auction::FUTURE, None),
    };
    let auction = AuctionRow {
        id: place.id as i64,
        name: names::auction(rng.next_u64()).into(),
        category: names::category(rng.next_u64()).into(),
        start_ms,
        end_ms,
        state,
        auctioneer_id: user(layout, &mut rng),
    };
    let attendees = attendees(layout, &mut rng, auction.auctioneer_id);
    for (index, id) in layout.attendance(place).enumerate() {
        // A current auction at full depth had more visits than it has attendees: some came back.
        let user_id = attendees[index % attendees.len()];
        made.events.attendance.push(attendance(&auction, id, user_id, &mut rng));
    }
    for (index, id) in (0..).zip(items) {
        let item = item(&auction, id, index, &mut rng);
        add_images(layout, place, &item, &mut made.events);
        let start_ms = start_ms + index * ITEM_MS;
        let sale = Sale {
            layout,
            auction: &auction,
            item: &item,
            start_ms,
            attendees: &attendees,
            round: index + 1,
        };
        match place.era {
            Era::History => add_history_bids(&sale, &mut rng, made),
            Era::Current if index == 0 => add_open_bid(&sale, &mut rng, made),
            Era::Current | Era::Future => {}
        }
        made.relational.items.push(item);
    }
    made.relational.auctions.push(auction);
}

/// Id of a numbered user.
fn user(layout: &Layout, rng: &mut Stream) -> i64 {
    rng.random_range(1..=layout.counts.users) as i64
}

/// Different users, none of them the seller.
fn attendees(layout: &Layout, rng: &mut Stream, auctioneer: i64) -> Vec<i64> {
    let mut attendees: Vec<i64> = Vec::with_capacity(ATTENDEES_PER_AUCTION as usize);
    // The smallest size has 300 users, so a draw is new more often than not and this ends.
    while attendees.len() < ATTENDEES_PER_AUCTION as usize {
        let attendee = user(layout, rng);
        if attendee != auctioneer && !attendees.contains(&attendee) {
            attendees.push(attendee);
        }
    }
    attendees
}

fn attendance(auction: &AuctionRow, id: u64, user_id: i64, rng: &mut Stream) -> AttendanceRow {
    let over = auction.state == codes::auction::COMPLETE;
    AttendanceRow {
        id: id as i64,
        user_id,
        record_ms: auction.start_ms + rng.random_range(0..60_000),
        auction_id: auction.id,
        auction_name: auction.name.clone(),
        state: if over { codes::attendance::AUCTION_COMPLETE } else { codes::attendance::LEFT },
    }
}

fn item(auction: &AuctionRow, id: u64, index: i64, rng: &mut Stream) -> ItemRow {
    let on_sale = auction.state == codes::auction::RUNNING && index == 0;
    let state = match auction.state {
        codes::auction::COMPLETE => codes::item::SOLD,
        _ if on_sale => codes::item::ACTIVE,
        _ => codes::item::IN_AUCTION,
    };
    ItemRow {
        id: id as i64,
        auction_id: Some(auction.id),
        auctioneer_id: auction.auctioneer_id,
        condition: rng.random_range(0..CONDITIONS),
        manufacturer: names::maker(rng.next_u64()).into(),
        short_description: text::words(rng, 30..=100),
        long_description: text::words(rng, 200..=900),
        origin_ms: rng.random_range(0..CLOCK_START_MS - YEAR_MS),
        starting_bid_cents: if on_sale { starting_bid_on_sale(rng) } else { starting_bid(rng) },
        state,
    }
}

/// A starting bid in cents: normal, and half the size of a negative draw.
fn starting_bid(rng: &mut Stream) -> i64 {
    let (mean, deviation) = STARTING_BID_CENTS;
    let any = TruncatedNormal::new(mean, deviation, f64::MIN..=f64::MAX).expect("the deviation is positive");
    let drawn = any.sample(rng);
    let positive = if drawn < 0.0 { -drawn / 2.0 } else { drawn };
    positive.max(LEAST_STARTING_BID_CENTS).round() as i64
}

/// The starting bid of an item found on sale at a random moment. Items that take long are found more often,
/// in proportion to their time on sale.
fn starting_bid_on_sale(rng: &mut Stream) -> i64 {
    loop {
        let drawn = starting_bid(rng);
        if rng.random::<f64>() * ms_on_sale(LEAST_STARTING_BID_CENTS) <= ms_on_sale(drawn as f64) {
            return drawn;
        }
    }
}

/// Number of bids until the ceiling.
fn bids_to_the_ceiling(start_cents: f64) -> f64 {
    (LAST_BID_CENTS / start_cents).ln().max(0.0) / MEAN_RAISE.ln()
}

/// Approximate time on sale of an item.
fn ms_on_sale(start_cents: f64) -> f64 {
    bids_to_the_ceiling(start_cents) * BID_EVERY_MS as f64 + CLOSING_MS
}

fn add_images(layout: &Layout, place: AuctionPosition, item: &ItemRow, events: &mut EventBatch) {
    let small = codes::image::THUMBNAIL | codes::image::PREVIEW;
    let sizes = if place.era == Era::Current { small | codes::image::FULL } else { small };
    for (number, id) in (0..).zip(layout.images(item.id as u64)) {
        let created_ms = CLOCK_START_MS - YEAR_MS;
        events.images.push(ImageRow { id: id as i64, item_id: item.id, number, sizes, created_ms });
    }
}

/// One item on sale.
struct Sale<'a> {
    layout: &'a Layout,
    auction: &'a AuctionRow,
    item: &'a ItemRow,
    start_ms: i64,
    attendees: &'a [i64],
    /// Number of the listing within the auction.
    round: i64,
}

/// Twenty bids by attendees; the last bidder bought the item.
fn add_history_bids(sale: &Sale<'_>, rng: &mut Stream, made: &mut FilledRows) {
    let (layout, attendees) = (sale.layout, sale.attendees);
    let first = layout.history_bids(sale.item.id as u64) as i64;
    let listing = layout.history_high_bid(sale.item.id as u64) as i64;
    let mut bidder = rng.random_range(0..attendees.len());
    let mut high = None;
    for n in 0..BIDS_PER_ITEM as i64 {
        // Successive bidders differ: the step to the next one is never a whole round.
        bidder = (bidder + rng.random_range(1..attendees.len())) % attendees.len();
        let bid = BidRow {
            id: first + n,
            bidder_id: attendees[bidder],
            bid_ms: sale.start_ms + (n + 1) * HISTORY_BID_MS,
            auction_id: sale.auction.id,
            item_id: sale.item.id,
            amount_cents: sale.item.starting_bid_cents + (n + 1) * HISTORY_STEP_CENTS,
            state: if n + 1 == BIDS_PER_ITEM as i64 { codes::bid::WINNING } else { codes::bid::HIGH },
            sequence: n + 2,
            listing,
            fence: 0,
        };
        high = Some((bid.bidder_id, bid.amount_cents, bid.bid_ms, bid.sequence, bid.id));
        made.events.bids.push(bid);
    }
    let Some((bidder_id, amount_cents, bid_ms, sequence, bid_id)) = high else { return };
    made.relational.high_bids.push(HighBidRow {
        id: listing,
        auction_id: sale.auction.id,
        item_id: sale.item.id,
        bidder_id,
        amount_cents,
        state: codes::high_bid::SOLD,
        // Last call and the sale count one each.
        sequence: sequence + 2,
        start_ms: sale.start_ms,
        end_ms: Some(sale.start_ms + ITEM_MS),
        bid_ms,
        bid_id,
        round: sale.round,
        fence: 0,
    });
}

/// The bidding in progress of the first item of a current auction.
fn add_open_bid(sale: &Sale<'_>, rng: &mut Stream, made: &mut FilledRows) {
    let (amount_cents, bids) = amount_in_progress(sale.item.starting_bid_cents, rng.random());
    let bidder_id = sale.attendees[rng.random_range(0..sale.attendees.len())];
    let (auction_id, item_id) = (sale.auction.id, sale.item.id);
    let sequence = 2 + bids;
    let bid_ms = CLOCK_START_MS - rng.random_range(0..BID_EVERY_MS);
    let state = codes::high_bid::OPEN;
    let start_ms = bid_ms - BID_EVERY_MS * (sequence - 1);
    made.relational.high_bids.push(HighBidRow {
        id: auction_id,
        auction_id,
        item_id,
        bidder_id,
        amount_cents,
        state,
        sequence,
        start_ms,
        end_ms: None,
        bid_ms,
        // Bids of current auctions have the ids before all others, one each.
        bid_id: auction_id,
        round: sale.round,
        fence: 0,
    });
    let state = codes::bid::HIGH;
    made.events.bids.push(BidRow {
        id: auction_id,
        bidder_id,
        bid_ms,
        auction_id,
        item_id,
        amount_cents,
        state,
        sequence,
        listing: auction_id,
        fence: 0,
    });
}

/// The amount, in cents, at a share of the time an item is on sale (`moment`, 0 to 1), and the approximate
/// number of bids up to there. An item that starts above the ceiling has still had one bid.
fn amount_in_progress(starting_bid_cents: i64, moment: f64) -> (i64, i64) {
    let start = starting_bid_cents as f64;
    let bids = (moment * ms_on_sale(start) / BID_EVERY_MS as f64).min(bids_to_the_ceiling(start)).round();
    let amount = start * MEAN_RAISE.powf(bids);
    // The one stored bid is above the starting bid, as every accepted bid is.
    ((amount.round() as i64).max(starting_bid_cents + 1), bids as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_data::Streams;

    #[test]
    fn bidding_in_progress_goes_from_the_start_to_the_ceiling() {
        assert_eq!(amount_in_progress(20_000, 0.0), (20_001, 0));
        // ln(943 / 200) / ln(1.0225) = 69.7 bids of 7.6 s, then a minute to the sale.
        let (amount, bids) = amount_in_progress(20_000, 1.0);
        assert_eq!(bids, 70);
        assert!((94_000..96_000).contains(&amount), "{amount}");
        assert_eq!(amount_in_progress(20_000, 0.5).1, 39);
        assert_eq!(amount_in_progress(120_000, 1.0), (120_001, 0));
    }

    #[test]
    fn items_on_sale_are_those_that_take_long() {
        let mut rng = Streams::new(3).stream("test", 0);
        let mean_ms = |draw: fn(&mut Stream) -> i64, rng: &mut Stream| {
            (0..20_000).map(|_| ms_on_sale(draw(rng) as f64)).sum::<f64>() / 20_000.0
        };
        // 680 s an item, as the published mix implies; found on sale: E[T^2] / E[T], which is longer.
        let any = mean_ms(starting_bid, &mut rng) / 1e3;
        assert!((any - 680.0).abs() < 20.0, "{any} s");
        let found = mean_ms(starting_bid_on_sale, &mut rng) / 1e3;
        let squares =
            (0..20_000).map(|_| ms_on_sale(starting_bid(&mut rng) as f64).powi(2)).sum::<f64>() / 20_000.0;
        assert!((found - squares / 1e6 / any).abs() < 20.0, "{found} s");
    }
}
