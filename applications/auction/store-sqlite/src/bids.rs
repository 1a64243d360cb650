//! Bids of the events file, and the images there.

use barograph_auction_api::{AuctionId, BidRecord, ItemId, Page, UserId};
use barograph_auction_store::{BidRow, ImageRow, PageWindow, SettledBid};
use rusqlite::{Connection, Result, Row, params};

use crate::values::{self, PageQueries, bid_outcome};

macro_rules! select_bid {
    ($rest:literal) => {
        concat!(
            "SELECT id, bidder_id, bid_ms, auction_id, item_id, listing, amount_cents, state, sequence, fence FROM bid ",
            $rest
        )
    };
}
pub(crate) use select_bid;

/// A bid from a row of [`select_bid`].
pub(crate) fn bid(row: &Row<'_>) -> Result<BidRow> {
    Ok(BidRow {
        id: row.get(0)?,
        bidder_id: row.get(1)?,
        bid_ms: row.get(2)?,
        auction_id: row.get(3)?,
        item_id: row.get(4)?,
        listing: row.get(5)?,
        amount_cents: row.get(6)?,
        state: row.get(7)?,
        sequence: row.get(8)?,
        fence: row.get(9)?,
    })
}

fn record(row: &Row<'_>) -> Result<BidRecord> {
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

/// A bid column by column, in the order of the schema.
pub(crate) fn columns(b: &BidRow) -> [i64; 10] {
    [
        b.bidder_id,
        b.bid_ms,
        b.id,
        b.auction_id,
        b.item_id,
        b.listing,
        b.amount_cents,
        b.state,
        b.sequence,
        b.fence,
    ]
}

/// Writes proposals, then settlements in their order.
pub(crate) fn write(conn: &Connection, proposed: &[BidRow], settled: &[SettledBid]) -> Result<()> {
    // An existing bid keeps its state: it may be settled by now.
    let mut insert = conn.prepare_cached(
        "INSERT INTO bid (bidder_id, bid_ms, id, auction_id, item_id, listing, amount_cents, state, sequence, fence, \
         preloaded) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0) ON CONFLICT DO NOTHING",
    )?;
    for b in proposed {
        insert.execute(columns(b))?;
    }
    let mut update = conn.prepare_cached(
        "UPDATE bid SET state = ?4 WHERE bidder_id = ?1 AND bid_ms = ?2 AND id = ?3 AND (?4 <> 0 OR state = 2)",
    )?;
    for s in settled {
        update.execute([s.bidder.0, s.bid_ms, s.bid, s.state])?;
    }
    Ok(())
}

pub(crate) fn unsettled(conn: &Connection, auction: AuctionId) -> Result<Vec<BidRow>> {
    // The state as a number, so that the partial index is used.
    let mut query = conn.prepare_cached(select_bid!("WHERE auction_id = ?1 AND state = 2 ORDER BY id"))?;
    query.query_map([auction.0], bid)?.collect()
}

pub(crate) fn of_user(conn: &Connection, user: UserId, window: PageWindow) -> Result<Page<BidRecord>> {
    let queries = PageQueries {
        count: "SELECT COUNT(*) FROM bid WHERE bidder_id = ?1 AND state <> 3",
        page: "SELECT id, auction_id, item_id, amount_cents, sequence, bid_ms, state FROM bid \
               WHERE bidder_id = ?1 AND state <> 3 ORDER BY bid_ms DESC, id DESC LIMIT ?2 OFFSET ?3",
    };
    values::page(conn, &queries, (&[&user.0], window), record)
}

pub(crate) fn of_run(conn: &Connection) -> Result<Vec<BidRow>> {
    let mut query = conn.prepare(select_bid!("WHERE preloaded = 0 ORDER BY listing, sequence, id"))?;
    query.query_map([], bid)?.collect()
}

/// A row of an image: id, item, number, sizes, time.
pub(crate) fn image(row: &Row<'_>) -> Result<ImageRow> {
    Ok(ImageRow {
        id: row.get(0)?,
        item_id: row.get(1)?,
        number: row.get(2)?,
        sizes: row.get(3)?,
        created_ms: row.get(4)?,
    })
}

pub(crate) fn images(conn: &Connection, items: &[ItemId]) -> Result<Vec<ImageRow>> {
    let mut query = conn.prepare_cached(
        "SELECT id, item_id, number, sizes, created_ms FROM image WHERE item_id = ?1 ORDER BY number, id",
    )?;
    let mut sorted = items.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut all = Vec::new();
    for item in sorted {
        for row in query.query_map([item.0], image)? {
            all.push(row?);
        }
    }
    Ok(all)
}

pub(crate) fn add_image(conn: &Connection, image: &ImageRow) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO image (item_id, number, id, sizes, created_ms, preloaded) SELECT ?1, ?2, ?3, ?4, ?5, 0 \
         WHERE NOT EXISTS (SELECT 1 FROM image WHERE item_id = ?1 AND id = ?3)",
    )?
    .execute(params![image.item_id, image.number, image.id, image.sizes, image.created_ms])?;
    Ok(())
}
