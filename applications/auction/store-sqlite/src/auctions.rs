//! Auctions, and the state that a new owner takes over.

use barograph_auction_api::{Auction, AuctionId, ItemId, Millis, Page, UserId};
use barograph_auction_rules::Listing;
use barograph_auction_store::{AuctionFilter, PageWindow, StartState, codes};
use rusqlite::{Connection, OptionalExtension, Result, Row, ToSql};

use crate::changes::{HIGH_BID_COLUMNS, high_bid};
use crate::values::{self, PageQueries, auction_number, auction_state};

macro_rules! select_auction {
    ($rest:literal) => {
        concat!("SELECT id, name, category, state, start_ms, end_ms, auctioneer_id FROM auction ", $rest)
    };
}

fn auction(row: &Row<'_>) -> Result<Auction> {
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

pub(crate) fn by_id(conn: &Connection, id: AuctionId) -> Result<Option<Auction>> {
    conn.prepare_cached(select_auction!("WHERE id = ?1"))?.query_row([id.0], auction).optional()
}

/// The condition of a filter, with the values of its numbered places.
fn condition(filter: &AuctionFilter) -> (String, Vec<Box<dyn ToSql>>) {
    let mut parts = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    if let Some(state) = filter.state {
        parts.push("state = ?");
        values.push(Box::new(auction_number(state)));
    }
    if let Some(category) = &filter.category {
        parts.push("category = ?");
        values.push(Box::new(category.clone()));
    }
    if let Some(text) = &filter.text {
        // `lower` handles ASCII letters only. `instr` has no wildcards, unlike LIKE.
        parts.push("instr(lower(name), lower(?)) > 0");
        values.push(Box::new(text.clone()));
    }
    let condition = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
    (condition, values)
}

pub(crate) fn list(conn: &Connection, filter: &AuctionFilter, window: PageWindow) -> Result<Page<Auction>> {
    let (condition, values) = condition(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(|v| &**v).collect();
    let queries = PageQueries {
        count: &format!("SELECT COUNT(*) FROM auction {condition}"),
        page: &format!("{} {condition} ORDER BY id LIMIT ? OFFSET ?", select_auction!("")),
    };
    values::page(conn, &queries, (&values, window), auction)
}

fn start_state(conn: &Connection, auction: Auction) -> Result<StartState> {
    let mut query =
        conn.prepare_cached("SELECT id, starting_bid_cents FROM item WHERE auction_id = ?1 ORDER BY id")?;
    let items = query
        .query_map([auction.id.0], |row| {
            Ok(Listing { item: ItemId(row.get(0)?), starting_bid: row.get(1)? })
        })?
        .collect::<Result<_>>()?;
    let mut query = conn.prepare_cached(&format!(
        "SELECT {HIGH_BID_COLUMNS} FROM high_bid WHERE auction_id = ?1 ORDER BY round DESC LIMIT 1"
    ))?;
    let latest = query.query_row([auction.id.0], |row| high_bid(row, 0)).optional()?;
    let bidder_credit = match &latest {
        Some(row) => conn
            .prepare_cached("SELECT credit_cents FROM user WHERE id = ?1")?
            .query_row([row.bidder_id], |row| row.get(0))
            .optional()?
            .unwrap_or(0),
        None => 0,
    };
    Ok(StartState { auction, items, latest, bidder_credit })
}

pub(crate) fn running(conn: &Connection) -> Result<Vec<StartState>> {
    let mut query = conn.prepare_cached(select_auction!("WHERE state = ?1 ORDER BY id"))?;
    let all: Vec<Auction> = query.query_map([codes::auction::RUNNING], auction)?.collect::<Result<_>>()?;
    all.into_iter().map(|a| start_state(conn, a)).collect()
}

pub(crate) fn running_one(conn: &Connection, id: AuctionId) -> Result<Option<StartState>> {
    let mut query = conn.prepare_cached(select_auction!("WHERE id = ?1 AND state = ?2"))?;
    let found = query.query_row([id.0, codes::auction::RUNNING], auction).optional()?;
    found.map(|a| start_state(conn, a)).transpose()
}

pub(crate) fn begin_due(conn: &Connection, now: Millis) -> Result<Vec<AuctionId>> {
    let mut query =
        conn.prepare_cached("SELECT id FROM auction WHERE state = ?1 AND start_ms <= ?2 ORDER BY id")?;
    let due: Vec<AuctionId> = query
        .query_map([codes::auction::FUTURE, now], |row| row.get(0).map(AuctionId))?
        .collect::<Result<_>>()?;
    for id in &due {
        conn.prepare_cached("UPDATE auction SET state = ?2, version = version + 1 WHERE id = ?1")?
            .execute([id.0, codes::auction::RUNNING])?;
    }
    Ok(due)
}

pub(crate) fn next_start(conn: &Connection) -> Result<Option<Millis>> {
    let mut query = conn.prepare_cached("SELECT MIN(start_ms) FROM auction WHERE state = ?1")?;
    query.query_row([codes::auction::FUTURE], |row| row.get(0))
}
