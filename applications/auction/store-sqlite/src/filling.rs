//! Files being filled, as fast as SQLite takes rows.

use std::path::{Path, PathBuf};

use barograph_auction_store::{Batch, EventBatch, Loading, RelationalBatch, StoreError, StoreFuture};
use rusqlite::{Connection, Result, params};

use crate::{STORE, bids, failed, remove, schema};

/// Settings while filling. Nothing protects the file against a crash: a broken fill is thrown away anyway.
/// The cache (in KiB, negative by SQLite's convention) holds the whole tables of small sizes, because bids
/// and attendance are clustered by user and so arrive in no order.
const WHILE_FILLING: &str = "
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -524288;
BEGIN;
";

/// A relational file being filled.
pub type RelationalFile = FileFill<RelationalBatch>;

/// An events file being filled.
pub type EventFile = FileFill<EventBatch>;

/// A file being filled with batches of one kind. The same batches in the same order make the same file.
#[derive(Debug)]
pub struct FileFill<B> {
    conn: Connection,
    path: PathBuf,
    batches: std::marker::PhantomData<fn(B)>,
}

/// Insertion of batches into their tables.
pub trait Rows: Batch {
    /// Makes the tables.
    #[doc(hidden)]
    const TABLES: &'static str;
    /// Makes the indices.
    #[doc(hidden)]
    const INDICES: &'static str;
    /// Inserts all rows.
    #[doc(hidden)]
    fn insert(&self, conn: &Connection) -> Result<()>;
}

impl<B: Rows> FileFill<B> {
    /// Makes the file anew, with empty tables. Fails if the file cannot be made.
    pub fn create(path: &Path) -> std::result::Result<Self, StoreError> {
        let what = "make a file";
        remove(path).map_err(|why| StoreError::Refused { store: STORE, what, source: why.into() })?;
        let create = || {
            let conn = Connection::open(path)?;
            conn.set_prepared_statement_cache_capacity(16);
            conn.execute_batch(WHILE_FILLING)?;
            conn.execute_batch(B::TABLES)?;
            Ok(conn)
        };
        let conn = create().map_err(failed(what))?;
        Ok(FileFill { conn, path: path.to_owned(), batches: std::marker::PhantomData })
    }

    /// Inserts rows; blocks. Errors are those of SQLite; the file is unusable after one.
    pub fn insert(&mut self, batch: &B) -> std::result::Result<(), StoreError> {
        batch.insert(&self.conn).map_err(failed("insert rows"))
    }

    /// Makes the indices, stores a description of the data, and waits until all of it is on the disk; blocks.
    /// Errors are those of [`FileFill::insert`].
    pub fn close(self, stamp: &str) -> std::result::Result<(), StoreError> {
        let finish = || {
            self.conn.execute_batch(B::INDICES)?;
            self.conn.execute(schema::STAMP, [stamp])?;
            self.conn.execute_batch("COMMIT; ANALYZE;")
        };
        finish().map_err(failed("make indices"))?;
        self.conn.close().map_err(|(_, why)| failed("close a file")(why))?;
        std::fs::File::open(&self.path).and_then(|file| file.sync_all()).map_err(|why| StoreError::Refused {
            store: STORE,
            what: "flush a file",
            source: why.into(),
        })
    }
}

impl<B: Rows> Loading<B> for FileFill<B> {
    fn add(&mut self, batch: B) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.insert(&batch) })
    }

    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move { self.close(stamp) })
    }
}

impl Rows for RelationalBatch {
    const TABLES: &'static str = schema::RELATIONAL;
    const INDICES: &'static str = schema::RELATIONAL_INDICES;

    fn insert(&self, conn: &Connection) -> Result<()> {
        let mut insert = conn.prepare_cached(
            "INSERT INTO user (id, name, password, first_name, last_name, credit_cents, enabled) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        for u in &self.users {
            insert.execute(params![
                u.id,
                u.name,
                u.password,
                u.first_name,
                u.last_name,
                u.credit_cents,
                u.enabled
            ])?;
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO auction (id, name, category, start_ms, end_ms, state, auctioneer_id) \
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
        let mut insert = conn.prepare_cached(
            "INSERT INTO item (id, auction_id, auctioneer_id, condition, manufacturer, short_description, \
             long_description, origin_ms, starting_bid_cents, state, preloaded) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?;
        for i in &self.items {
            insert.execute(params![
                i.id,
                i.auction_id,
                i.auctioneer_id,
                i.condition,
                i.manufacturer,
                i.short_description,
                i.long_description,
                i.origin_ms,
                i.starting_bid_cents,
                i.state
            ])?;
        }
        insert_high_bids(conn, self)
    }
}

fn insert_high_bids(conn: &Connection, batch: &RelationalBatch) -> Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO high_bid (id, auction_id, item_id, bidder_id, amount_cents, state, sequence, start_ms, end_ms, \
         bid_ms, bid_id, round, fence, preloaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
    )?;
    for h in &batch.high_bids {
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
            h.bid_ms,
            h.bid_id,
            h.round,
            h.fence
        ])?;
    }
    Ok(())
}

impl Rows for EventBatch {
    const TABLES: &'static str = schema::EVENTS;
    const INDICES: &'static str = schema::EVENT_INDICES;

    fn insert(&self, conn: &Connection) -> Result<()> {
        let mut insert = conn.prepare_cached(
            "INSERT INTO bid (bidder_id, bid_ms, id, auction_id, item_id, listing, amount_cents, state, sequence, \
             fence, preloaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?;
        for b in &self.bids {
            insert.execute(bids::columns(b))?;
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO attendance (user_id, record_ms, id, auction_id, auction_name, state, preloaded) \
             VALUES (?, ?, ?, ?, ?, ?, 1)",
        )?;
        for a in &self.attendance {
            insert.execute(params![a.user_id, a.record_ms, a.id, a.auction_id, a.auction_name, a.state])?;
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO image (item_id, number, id, sizes, created_ms, preloaded) VALUES (?, ?, ?, ?, ?, 1)",
        )?;
        for i in &self.images {
            insert.execute([i.item_id, i.number, i.id, i.sizes, i.created_ms])?;
        }
        Ok(())
    }
}
