//! The rows of the two stores as plain values, and how they go into their tables.

use crate::schema;
use rusqlite::{Connection, Result, params};

/// A batch of rows of one store.
pub(super) trait Batch {
    /// Makes the tables.
    const TABLES: &'static str;
    /// Makes the indices.
    const INDICES: &'static str;
    /// Inserts all rows of the batch.
    fn insert(&self, store: &mut Connection) -> Result<()>;
}

#[derive(Debug)]
pub(super) struct User {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) password: String,
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
    pub(super) enabled: bool,
}

#[derive(Debug)]
pub(super) struct Auction {
    pub(super) id: i64,
    pub(super) name: &'static str,
    pub(super) category: &'static str,
    pub(super) start_ms: i64,
    pub(super) end_ms: Option<i64>,
    pub(super) state: i64,
    pub(super) auctioneer_id: i64,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: i64,
    pub(super) auction_id: i64,
    pub(super) auctioneer_id: i64,
    pub(super) condition: i64,
    pub(super) maker: &'static str,
    pub(super) short: String,
    pub(super) long: String,
    pub(super) origin_ms: i64,
    pub(super) starting_bid_cents: i64,
    pub(super) state: i64,
}

#[derive(Debug)]
pub(super) struct HighBid {
    pub(super) id: i64,
    pub(super) auction_id: i64,
    pub(super) item_id: i64,
    pub(super) bidder_id: i64,
    pub(super) amount_cents: i64,
    pub(super) state: i64,
    pub(super) sequence: i64,
    pub(super) start_ms: i64,
    pub(super) end_ms: Option<i64>,
    pub(super) bid_ms: i64,
}

/// Rows of the relational store.
#[derive(Debug, Default)]
pub(super) struct Relational {
    pub(super) users: Vec<User>,
    pub(super) auctions: Vec<Auction>,
    pub(super) items: Vec<Item>,
    pub(super) high_bids: Vec<HighBid>,
}

impl Batch for Relational {
    const TABLES: &'static str = schema::RELATIONAL;
    const INDICES: &'static str = schema::RELATIONAL_INDICES;

    fn insert(&self, store: &mut Connection) -> Result<()> {
        let mut insert = store.prepare_cached(
            "INSERT INTO user (id, name, password, first_name, last_name, credit_cents, enabled)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        for u in &self.users {
            let credit = super::CREDIT_CENTS;
            insert.execute(params![
                u.id,
                u.name,
                u.password,
                u.first_name,
                u.last_name,
                credit,
                u.enabled
            ])?;
        }
        let mut insert = store.prepare_cached(
            "INSERT INTO auction (id, name, category, start_ms, end_ms, state, auctioneer_id)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        for a in &self.auctions {
            insert.execute(params![
                a.id,
                a.name,
                a.category,
                a.start_ms,
                a.end_ms,
                a.state,
                a.auctioneer_id
            ])?;
        }
        let mut insert = store.prepare_cached(
            "INSERT INTO item (id, auction_id, auctioneer_id, condition, manufacturer, short_description,
               long_description, origin_ms, starting_bid_cents, state, preloaded)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?;
        for i in &self.items {
            insert.execute(params![
                i.id,
                i.auction_id,
                i.auctioneer_id,
                i.condition,
                i.maker,
                i.short,
                i.long,
                i.origin_ms,
                i.starting_bid_cents,
                i.state
            ])?;
        }
        let mut insert = store.prepare_cached(
            "INSERT INTO high_bid (id, auction_id, item_id, bidder_id, amount_cents, state, sequence, start_ms,
               end_ms, bid_ms, preloaded)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?;
        for h in &self.high_bids {
            insert.execute(params![
                h.id,
                h.auction_id,
                h.item_id,
                h.bidder_id,
                h.amount_cents,
                h.state,
                h.sequence,
                h.start_ms,
                h.end_ms,
                h.bid_ms
            ])?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Bid {
    pub(super) id: i64,
    pub(super) bidder_id: i64,
    pub(super) bid_ms: i64,
    pub(super) auction_id: i64,
    pub(super) item_id: i64,
    pub(super) amount_cents: i64,
    pub(super) state: i64,
    pub(super) sequence: i64,
}

#[derive(Debug)]
pub(super) struct Attendance {
    pub(super) id: i64,
    pub(super) user_id: i64,
    pub(super) record_ms: i64,
    pub(super) auction_id: i64,
    pub(super) auction_name: &'static str,
    pub(super) state: i64,
}

#[derive(Debug)]
pub(super) struct Image {
    pub(super) id: i64,
    pub(super) item_id: i64,
    pub(super) number: i64,
    pub(super) sizes: i64,
    pub(super) created_ms: i64,
}

/// Rows of the event store.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) bids: Vec<Bid>,
    pub(super) attendance: Vec<Attendance>,
    pub(super) images: Vec<Image>,
}

impl Batch for Events {
    const TABLES: &'static str = schema::EVENTS;
    // Its tables are clustered by who asks, so they need no indices.
    const INDICES: &'static str = "";

    fn insert(&self, store: &mut Connection) -> Result<()> {
        let mut insert = store.prepare_cached(
            "INSERT INTO bid (bidder_id, bid_ms, id, auction_id, item_id, amount_cents, state, sequence, preloaded)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?;
        for b in &self.bids {
            insert.execute(params![
                b.bidder_id,
                b.bid_ms,
                b.id,
                b.auction_id,
                b.item_id,
                b.amount_cents,
                b.state,
                b.sequence
            ])?;
        }
        let mut insert = store.prepare_cached(
            "INSERT INTO attendance (user_id, record_ms, id, auction_id, auction_name, state, preloaded)
             VALUES (?, ?, ?, ?, ?, ?, 1)",
        )?;
        for a in &self.attendance {
            insert.execute(params![a.user_id, a.record_ms, a.id, a.auction_id, a.auction_name, a.state])?;
        }
        let mut insert = store.prepare_cached(
            "INSERT INTO image (item_id, number, id, sizes, created_ms, preloaded) VALUES (?, ?, ?, ?, ?, 1)",
        )?;
        for i in &self.images {
            insert.execute(params![i.item_id, i.number, i.id, i.sizes, i.created_ms])?;
        }
        Ok(())
    }
}

/// Rows of both stores that were made together.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) relational: Relational,
    pub(super) events: Events,
}
