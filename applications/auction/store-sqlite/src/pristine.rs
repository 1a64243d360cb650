//! Reads a filled data set in batches, to load other stores with it.

use std::borrow::Cow;
use std::path::Path;

use barograph_auction_store::{
    AttendanceRow, AuctionRow, EventBatch, HighBidRow, Initial, ItemRow, RelationalBatch, StoreError, UserRow,
};
use rusqlite::{Connection, OpenFlags, Result, Row};

use crate::bids::{bid, image, select_bid};
use crate::changes::{self, HIGH_BID_COLUMNS, high_bid};
use crate::{Files, failed};

/// Rows per batch: some megabytes of items, which every store takes at once.
const BATCH: i64 = 5_000;

/// Position in a table: the values of its key.
type Key = [i64; 3];

/// Position before all rows.
const FIRST: Key = [i64::MIN; 3];

/// The rows of one table after a key, with the key of the last; `None` after the last row.
type Step<B> = fn(&Connection, Key) -> Result<Option<(B, Key)>>;

/// A filled data set.
#[derive(Debug)]
pub struct Pristine {
    relational: Connection,
    events: Connection,
}

/// The stamp that the fill left in one of the files.
pub(crate) fn stamp(conn: &Connection) -> std::result::Result<String, StoreError> {
    conn.query_row("SELECT text FROM meta WHERE name = 'stamp'", [], |row| row.get(0))
        .map_err(failed("find out what was loaded"))
}

impl Pristine {
    /// Opens the filled files of a data folder. Errors: when they cannot be opened.
    pub fn open(data_dir: &Path) -> std::result::Result<Self, StoreError> {
        let files = Files::pristine(data_dir);
        let open = |path: &Path| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags).map_err(failed("open a filled file"))
        };
        Ok(Pristine { relational: open(&files.relational)?, events: open(&files.events)? })
    }

    /// Name of the data set, as given when it was finished. Fails if the files are not those of a fill.
    pub fn stamp(&self) -> std::result::Result<String, StoreError> {
        stamp(&self.relational)
    }

    /// Contents of the relational store. Errors are those of [`Pristine::stamp`].
    pub fn initial(&self) -> std::result::Result<Initial, StoreError> {
        changes::initial(&self.relational).map_err(failed("find out what was loaded"))
    }

    /// The relational rows in batches: users, auctions, items, listings, each by id.
    pub fn relational(&self) -> impl Iterator<Item = std::result::Result<RelationalBatch, StoreError>> + '_ {
        Batches { conn: &self.relational, steps: &[users, auctions, items, high_bids], at: 0, after: FIRST }
    }

    /// The event rows in batches: bids, attendance, images, each in the order of the file, which is by owner:
    /// rows of one user come together.
    pub fn events(&self) -> impl Iterator<Item = std::result::Result<EventBatch, StoreError>> + '_ {
        Batches { conn: &self.events, steps: &[bids, attendance, images], at: 0, after: FIRST }
    }
}

/// Iterator over tables, one after the other. Each batch is a query of its own from the end of the last, so
/// that nothing is held in between.
struct Batches<'a, B: 'static> {
    conn: &'a Connection,
    steps: &'static [Step<B>],
    at: usize,
    after: Key,
}

impl<B> Iterator for Batches<'_, B> {
    type Item = std::result::Result<B, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(step) = self.steps.get(self.at) {
            match step(self.conn, self.after) {
                Ok(Some((batch, last))) => {
                    self.after = last;
                    return Some(Ok(batch));
                }
                Ok(None) => {
                    self.at += 1;
                    self.after = FIRST;
                }
                Err(why) => {
                    self.at = self.steps.len();
                    return Some(Err(failed("read filled rows")(why)));
                }
            }
        }
        None
    }
}

/// A table that is read in pieces.
struct Table<T> {
    /// The query, with the values of the key and the number of rows as parameters.
    query: &'static str,
    /// Columns of the key.
    columns: usize,
    row: fn(&Row<'_>) -> Result<T>,
    key: fn(&T) -> Key,
}

fn read<T>(conn: &Connection, after: Key, table: &Table<T>) -> Result<Option<(Vec<T>, Key)>> {
    let mut query = conn.prepare_cached(table.query)?;
    let mut values = after[..table.columns].to_vec();
    values.push(BATCH);
    let rows: Vec<T> =
        query.query_map(rusqlite::params_from_iter(values), table.row)?.collect::<Result<_>>()?;
    let last = rows.last().map(table.key);
    Ok(last.map(|key| (rows, key)))
}

fn one(id: i64) -> Key {
    [id, 0, 0]
}

fn users(conn: &Connection, after: Key) -> Result<Option<(RelationalBatch, Key)>> {
    let table = Table {
        query: "SELECT id, name, password, first_name, last_name, credit_cents, enabled FROM user \
                WHERE id > ?1 ORDER BY id LIMIT ?2",
        columns: 1,
        row: |row| {
            Ok(UserRow {
                id: row.get(0)?,
                name: row.get(1)?,
                password: row.get(2)?,
                first_name: Cow::Owned(row.get(3)?),
                last_name: Cow::Owned(row.get(4)?),
                credit_cents: row.get(5)?,
                enabled: row.get(6)?,
            })
        },
        key: |user| one(user.id),
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(users, key)| (RelationalBatch { users, ..RelationalBatch::default() }, key)))
}

fn auctions(conn: &Connection, after: Key) -> Result<Option<(RelationalBatch, Key)>> {
    let table = Table {
        query: "SELECT id, name, category, start_ms, end_ms, state, auctioneer_id FROM auction \
                WHERE id > ?1 ORDER BY id LIMIT ?2",
        columns: 1,
        row: |row| {
            Ok(AuctionRow {
                id: row.get(0)?,
                name: Cow::Owned(row.get(1)?),
                category: Cow::Owned(row.get(2)?),
                start_ms: row.get(3)?,
                end_ms: row.get(4)?,
                state: row.get(5)?,
                auctioneer_id: row.get(6)?,
            })
        },
        key: |auction| one(auction.id),
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(auctions, key)| (RelationalBatch { auctions, ..RelationalBatch::default() }, key)))
}

fn items(conn: &Connection, after: Key) -> Result<Option<(RelationalBatch, Key)>> {
    let table = Table {
        query: "SELECT id, auction_id, auctioneer_id, condition, manufacturer, short_description, long_description, \
                origin_ms, starting_bid_cents, state FROM item WHERE id > ?1 ORDER BY id LIMIT ?2",
        columns: 1,
        row: |row| {
            Ok(ItemRow {
                id: row.get(0)?,
                auction_id: row.get(1)?,
                auctioneer_id: row.get(2)?,
                condition: row.get(3)?,
                manufacturer: Cow::Owned(row.get(4)?),
                short_description: row.get(5)?,
                long_description: row.get(6)?,
                origin_ms: row.get(7)?,
                starting_bid_cents: row.get(8)?,
                state: row.get(9)?,
            })
        },
        key: |item| one(item.id),
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(items, key)| (RelationalBatch { items, ..RelationalBatch::default() }, key)))
}

fn high_bids(conn: &Connection, after: Key) -> Result<Option<(RelationalBatch, Key)>> {
    let mut query = conn.prepare_cached(&format!(
        "SELECT {HIGH_BID_COLUMNS} FROM high_bid WHERE id > ?1 ORDER BY id LIMIT ?2"
    ))?;
    let rows = query.query_map([after[0], BATCH], |row| high_bid(row, 0))?;
    let high_bids: Vec<HighBidRow> = rows.collect::<Result<_>>()?;
    let last = high_bids.last().map(|row| one(row.id));
    Ok(last.map(|key| (RelationalBatch { high_bids, ..RelationalBatch::default() }, key)))
}

fn bids(conn: &Connection, after: Key) -> Result<Option<(EventBatch, Key)>> {
    let table = Table {
        query: select_bid!(
            "WHERE (bidder_id, bid_ms, id) > (?1, ?2, ?3) ORDER BY bidder_id, bid_ms, id LIMIT ?4"
        ),
        columns: 3,
        row: bid,
        key: |bid| [bid.bidder_id, bid.bid_ms, bid.id],
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(bids, key)| (EventBatch { bids, ..EventBatch::default() }, key)))
}

fn attendance(conn: &Connection, after: Key) -> Result<Option<(EventBatch, Key)>> {
    let table = Table {
        query: "SELECT id, user_id, record_ms, auction_id, auction_name, state FROM attendance \
                WHERE (user_id, record_ms, id) > (?1, ?2, ?3) ORDER BY user_id, record_ms, id LIMIT ?4",
        columns: 3,
        row: |row| {
            Ok(AttendanceRow {
                id: row.get(0)?,
                user_id: row.get(1)?,
                record_ms: row.get(2)?,
                auction_id: row.get(3)?,
                auction_name: Cow::Owned(row.get(4)?),
                state: row.get(5)?,
            })
        },
        key: |visit| [visit.user_id, visit.record_ms, visit.id],
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(attendance, key)| (EventBatch { attendance, ..EventBatch::default() }, key)))
}

fn images(conn: &Connection, after: Key) -> Result<Option<(EventBatch, Key)>> {
    let table = Table {
        query: "SELECT id, item_id, number, sizes, created_ms FROM image \
                WHERE (item_id, number, id) > (?1, ?2, ?3) ORDER BY item_id, number, id LIMIT ?4",
        columns: 3,
        row: image,
        key: |image| [image.item_id, image.number, image.id],
    };
    let found = read(conn, after, &table)?;
    Ok(found.map(|(images, key)| (EventBatch { images, ..EventBatch::default() }, key)))
}
