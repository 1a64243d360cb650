//! Auctions, and what the auctioneer needs to take them over.

use barograph_auction_api::{Auction, AuctionId, Cents, ItemId, Millis, Page, UserId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::rows::{self, HighBid, Window, auction_state};
use super::{Store, StoreError};
use crate::codes;
use crate::live::Listing;

/// A running auction as the store knows it.
pub(crate) struct StartState {
    pub(crate) auction: Auction,
    /// Its items.
    pub(crate) items: Vec<Listing>,
    /// The item on sale and its bidding, where that has begun.
    pub(crate) ongoing: Option<(ItemId, HighBid)>,
    /// The credit of whoever bids most on that item, in cents.
    pub(crate) bidder_credit: Cents,
}

const COLUMNS: &str = "id, name, category, state, start_ms, end_ms, auctioneer_id";

fn auction(row: &Row<'_>) -> rusqlite::Result<Auction> {
    Ok(Auction {
        id: AuctionId(row.get(0)?),
        name: row.get(1)?,
        category: row.get(2)?,
        state: auction_state(row, 3)?,
        start_ms: row.get(4)?,
        end_ms: row.get(5)?,
        auctioneer_id: UserId(row.get(6)?),
    })
}

fn start_state(conn: &Connection, auction: Auction) -> rusqlite::Result<StartState> {
    let mut query = conn
        .prepare_cached("SELECT id, starting_bid_cents, state FROM item WHERE auction_id = ?1 ORDER BY id")?;
    let rows = query.query_map([auction.id.0], |row| {
        let listing = Listing { item: ItemId(row.get(0)?), starting_bid: row.get(1)? };
        Ok((listing, row.get::<_, i64>(2)? == codes::item::ACTIVE))
    })?;
    let rows: Vec<(Listing, bool)> = rows.collect::<Result<_, _>>()?;
    let mut ongoing = None;
    let mut bidder_credit = 0;
    if let Some((active, _)) = rows.iter().find(|(_, active)| *active) {
        let mut query = conn.prepare_cached(
            "SELECT h.id, h.bidder_id, h.amount_cents, h.state, h.sequence, h.bid_ms, u.credit_cents FROM high_bid h \
             LEFT JOIN user u ON u.id = h.bidder_id WHERE h.item_id = ?1 AND h.state <> ?2 ORDER BY h.id DESC LIMIT 1",
        )?;
        let found = query.query_row([active.item.0, codes::high_bid::SOLD], |row| {
            let high = HighBid {
                row: row.get(0)?,
                bidder: row.get(1)?,
                amount: row.get(2)?,
                state: row.get(3)?,
                sequence: row.get(4)?,
                bid_ms: row.get(5)?,
            };
            Ok((high, row.get::<_, Option<Cents>>(6)?.unwrap_or(0)))
        });
        if let Some((high, credit)) = found.optional()? {
            ongoing = Some((active.item, high));
            bidder_credit = credit;
        }
    }
    Ok(StartState { auction, items: rows.into_iter().map(|r| r.0).collect(), ongoing, bidder_credit })
}

fn in_state(conn: &Connection, state: i64) -> rusqlite::Result<Vec<Auction>> {
    let mut query =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM auction WHERE state = ?1 ORDER BY id"))?;
    query.query_map([state], auction)?.collect()
}

impl Store {
    /// All running auctions with their items.
    pub(crate) fn running_auctions(&self) -> Result<Vec<StartState>, StoreError> {
        self.readers.read_together(|conn| {
            in_state(conn, codes::auction::RUNNING)?.into_iter().map(|a| start_state(conn, a)).collect()
        })
    }

    /// Future auctions whose time has come by `now`, begun: they are running in the store from here on.
    pub(crate) async fn begin_due_auctions(&self, now: Millis) -> Result<Vec<StartState>, StoreError> {
        let change = move |conn: &Connection| {
            let due: Vec<AuctionId> = in_state(conn, codes::auction::FUTURE)?
                .into_iter()
                .filter(|a| a.start_ms <= now)
                .map(|a| a.id)
                .collect();
            let mut begun = Vec::new();
            for id in due {
                conn.prepare_cached("UPDATE auction SET state = ?2 WHERE id = ?1")?
                    .execute([id.0, codes::auction::RUNNING])?;
                let mut query =
                    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM auction WHERE id = ?1"))?;
                let auction = query.query_row([id.0], auction)?;
                begun.push(start_state(conn, auction)?);
            }
            Ok(begun)
        };
        self.relational.write_surely(change).await
    }

    /// When the next future auction begins, if there is one.
    pub(crate) fn next_auction_start(&self) -> Result<Option<Millis>, StoreError> {
        self.readers.read(|conn| {
            conn.query_row(
                "SELECT MIN(start_ms) FROM auction WHERE state = ?1",
                [codes::auction::FUTURE],
                |row| row.get(0),
            )
        })
    }

    /// One auction.
    pub(crate) fn auction(&self, id: AuctionId) -> Result<Option<Auction>, StoreError> {
        self.readers.read(|conn| {
            let mut query = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM auction WHERE id = ?1"))?;
            query.query_row([id.0], auction).optional()
        })
    }

    /// A page of the running auctions, by id.
    pub(crate) fn running_page(&self, window: Window) -> Result<Page<Auction>, StoreError> {
        self.readers.read_together(|conn| {
            let state = codes::auction::RUNNING;
            let mut count = conn.prepare_cached("SELECT COUNT(*) FROM auction WHERE state = ?1")?;
            let total_records = count.query_row([state], rows::count)?;
            let mut query = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM auction WHERE state = ?1 ORDER BY id LIMIT ?2 OFFSET ?3"
            ))?;
            let rows = query.query_map([state, i64::from(window.size), window.offset()], auction)?;
            let items = rows.collect::<Result<_, _>>()?;
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }

    /// A page of all auctions, by id.
    pub(crate) fn auction_page(&self, window: Window) -> Result<Page<Auction>, StoreError> {
        self.readers.read_together(|conn| {
            let mut count = conn.prepare_cached("SELECT COUNT(*) FROM auction")?;
            let total_records = count.query_row([], rows::count)?;
            let mut query = conn
                .prepare_cached(&format!("SELECT {COLUMNS} FROM auction ORDER BY id LIMIT ?1 OFFSET ?2"))?;
            let rows = query.query_map([i64::from(window.size), window.offset()], auction)?;
            let items = rows.collect::<Result<_, _>>()?;
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }
}
