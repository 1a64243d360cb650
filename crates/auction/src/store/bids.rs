//! Accepted bids and the greatest bid of each listing.

use barograph_auction_api::{AuctionId, BidRecord, ItemId, Millis, Page, UserId};
use rusqlite::{Connection, Row};

use super::rows::{self, Window, bid_outcome};
use super::{Store, StoreError};
use crate::codes;
use crate::live::{Bidding, Event, EventKind};

/// A change of an auction on its way into the stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) auction: AuctionId,
    pub(crate) event: Event,
    /// Id for the row of the bid that this change stores; 0 when it stores none.
    pub(crate) bid: i64,
    /// When the bid that leads was accepted; with bidder and item it finds that bid's row.
    pub(crate) bid_ms: Millis,
    /// Id of the listing's row in `high_bid`.
    pub(crate) listing: i64,
}

fn record(row: &Row<'_>) -> rusqlite::Result<BidRecord> {
    Ok(BidRecord {
        id: row.get(0)?,
        auction_id: AuctionId(row.get(1)?),
        item_id: ItemId(row.get(2)?),
        amount_cents: row.get(3)?,
        sequence: row.get(4)?,
        bid_ms: row.get(5)?,
        outcome: bid_outcome(row, 6)?,
    })
}

/// Writes what the events file keeps of a change.
pub(crate) fn write_event(conn: &Connection, change: &Change) -> rusqlite::Result<()> {
    let Bidding { item, bidder, amount, sequence, .. } = change.event.bidding;
    match change.event.kind {
        EventKind::NewHighBid => {
            conn.prepare_cached("INSERT INTO bid VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)")?.execute(
                rusqlite::params![
                    bidder.0,
                    change.bid_ms,
                    change.bid,
                    change.auction.0,
                    item.0,
                    amount,
                    codes::bid::HIGH,
                    sequence
                ],
            )?;
        }
        EventKind::Sold => {
            conn.prepare_cached(
                "UPDATE bid SET state = ?4 WHERE bidder_id = ?1 AND bid_ms = ?2 AND item_id = ?3",
            )?
            .execute([bidder.0, change.bid_ms, item.0, codes::bid::WINNING])?;
        }
        EventKind::ItemStarted | EventKind::LastCall | EventKind::NotSold => {}
    }
    Ok(())
}

/// Writes what the relational file keeps of a change: the listing, the item, and the winner's credit, all or nothing.
pub(crate) fn write_relational(conn: &Connection, change: &Change) -> rusqlite::Result<()> {
    let Bidding { item, bidder, amount, sequence, .. } = change.event.bidding;
    let at = change.event.at_ms;
    let set_item = |state: i64| {
        conn.prepare_cached("UPDATE item SET state = ?2, version = version + 1 WHERE id = ?1")?
            .execute([item.0, state])
    };
    let close = |state: i64, end: Option<Millis>| {
        conn.prepare_cached(
            "UPDATE high_bid SET state = ?2, sequence = ?3, end_ms = ?4, version = version + 1 WHERE id = ?1",
        )?
        .execute(rusqlite::params![change.listing, state, sequence, end])
    };
    match change.event.kind {
        EventKind::ItemStarted => {
            conn.prepare_cached(
                "INSERT INTO high_bid (id, auction_id, item_id, bidder_id, amount_cents, state, sequence, start_ms, \
                 end_ms, bid_ms, preloaded) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?8, 0)",
            )?
            .execute(rusqlite::params![
                change.listing,
                change.auction.0,
                item.0,
                bidder.0,
                amount,
                codes::high_bid::OPEN,
                sequence,
                at
            ])?;
            set_item(codes::item::ACTIVE)?;
        }
        EventKind::NewHighBid => {
            conn.prepare_cached(
                "UPDATE high_bid SET bidder_id = ?2, amount_cents = ?3, state = ?4, sequence = ?5, bid_ms = ?6, \
                 version = version + 1 WHERE id = ?1",
            )?
            .execute(rusqlite::params![
                change.listing,
                bidder.0,
                amount,
                codes::high_bid::OPEN,
                sequence,
                at
            ])?;
        }
        EventKind::LastCall => {
            close(codes::high_bid::LAST_CALL, None)?;
        }
        EventKind::Sold => {
            close(codes::high_bid::SOLD, Some(at))?;
            set_item(codes::item::SOLD)?;
            conn.prepare_cached(
                "UPDATE user SET credit_cents = credit_cents - ?2, version = version + 1 WHERE id = ?1",
            )?
            .execute([bidder.0, amount])?;
        }
        EventKind::NotSold => {
            close(codes::high_bid::NOT_SOLD, Some(at))?;
            set_item(codes::item::IN_AUCTION)?;
        }
    }
    Ok(())
}

impl Store {
    /// A page of a user's accepted bids, latest first.
    pub(crate) fn user_bids(&self, user: UserId, window: Window) -> Result<Page<BidRecord>, StoreError> {
        self.readers.read_together(|conn| {
            let mut count = conn.prepare_cached("SELECT COUNT(*) FROM events.bid WHERE bidder_id = ?1")?;
            let total_records = count.query_row([user.0], rows::count)?;
            let mut query = conn.prepare_cached(
                "SELECT id, auction_id, item_id, amount_cents, sequence, bid_ms, state FROM events.bid \
                 WHERE bidder_id = ?1 ORDER BY bid_ms DESC, id DESC LIMIT ?2 OFFSET ?3",
            )?;
            let rows = query.query_map([user.0, i64::from(window.size), window.offset()], record)?;
            let items = rows.collect::<Result<_, _>>()?;
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }
}
