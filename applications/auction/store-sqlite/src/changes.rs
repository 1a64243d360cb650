//! Application of changes of auctions, and queries for the data checks.

use barograph_auction_api::AuctionId;
use barograph_auction_rules::EventKind;
use barograph_auction_store::{
    Audit, CLOCK_START_MS, Change, ChangeOutcome, HighBidRow, Initial, ListingAudit, codes,
};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

/// The columns of [`high_bid`], in its order.
pub(crate) const HIGH_BID_COLUMNS: &str = "high_bid.id, high_bid.auction_id, item_id, bidder_id, amount_cents, \
     high_bid.state, sequence, start_ms, end_ms, bid_ms, bid_id, round, fence";

/// A listing, from the column `first` on.
pub(crate) fn high_bid(row: &Row<'_>, first: usize) -> Result<HighBidRow> {
    Ok(HighBidRow {
        id: row.get(first)?,
        auction_id: row.get(first + 1)?,
        item_id: row.get(first + 2)?,
        bidder_id: row.get(first + 3)?,
        amount_cents: row.get(first + 4)?,
        state: row.get(first + 5)?,
        sequence: row.get(first + 6)?,
        start_ms: row.get(first + 7)?,
        end_ms: row.get(first + 8)?,
        bid_ms: row.get(first + 9)?,
        bid_id: row.get(first + 10)?,
        round: row.get(first + 11)?,
        fence: row.get(first + 12)?,
    })
}

pub(crate) fn listing(conn: &Connection, id: i64) -> Result<Option<HighBidRow>> {
    let mut query = conn.prepare_cached(&format!("SELECT {HIGH_BID_COLUMNS} FROM high_bid WHERE id = ?1"))?;
    query.query_row([id], |row| high_bid(row, 0)).optional()
}

/// Finds the last sale of this run by going back through the auction's listings; sales are seldom far.
pub(crate) fn last_sale(conn: &Connection, auction: AuctionId) -> Result<Option<HighBidRow>> {
    let mut query = conn.prepare_cached(&format!(
        "SELECT {HIGH_BID_COLUMNS} FROM high_bid WHERE auction_id = ?1 AND state = 2 AND fence > 0 \
         ORDER BY round DESC LIMIT 1"
    ))?;
    query.query_row([auction.0], |row| high_bid(row, 0)).optional()
}

/// Applies changes in their order.
pub(crate) fn apply(conn: &Connection, changes: &[Change]) -> Result<Vec<ChangeOutcome>> {
    changes.iter().map(|change| apply_one(conn, change)).collect()
}

/// State of a listing before a change.
struct ListingState {
    sequence: i64,
    fence: i64,
    state: i64,
}

fn apply_one(conn: &Connection, change: &Change) -> Result<ChangeOutcome> {
    let mut query = conn.prepare_cached(
        "SELECT a.fence, h.sequence, h.fence, h.state FROM auction a LEFT JOIN high_bid h ON h.id = ?2 \
         WHERE a.id = ?1",
    )?;
    let found = query
        .query_row([change.auction.0, change.listing], |row| {
            let before = match row.get(1)? {
                Some(sequence) => Some(ListingState { sequence, fence: row.get(2)?, state: row.get(3)? }),
                None => None,
            };
            Ok((row.get::<_, i64>(0)?, before))
        })
        .optional()?;
    let Some((current, before)) = found else { return Ok(ChangeOutcome::Fenced) };
    let sequence = i64::from(change.event.bidding.sequence);
    // Before the fence: an applied change stays applied, even if the auction has another owner now.
    if let Some(before) = before
        && before.fence == change.fence
        && before.sequence >= sequence
    {
        let unpaid = change.event.kind == EventKind::Sold && before.state == codes::high_bid::NOT_SOLD;
        return Ok(if unpaid { ChangeOutcome::Unpaid } else { ChangeOutcome::Stored });
    }
    if current != change.fence { Ok(ChangeOutcome::Fenced) } else { write(conn, change) }
}

fn write(conn: &Connection, change: &Change) -> Result<ChangeOutcome> {
    use codes::{high_bid as listing, item};
    let bidding = change.event.bidding;
    let (state, item_state) = match change.event.kind {
        EventKind::ItemStarted => (listing::OPEN, Some(item::ACTIVE)),
        EventKind::NewHighBid => (listing::OPEN, None),
        EventKind::LastCall => (listing::LAST_CALL, None),
        EventKind::Sold if pay(conn, change)? => (listing::SOLD, Some(item::SOLD)),
        EventKind::Sold | EventKind::NotSold => (listing::NOT_SOLD, Some(item::IN_AUCTION)),
    };
    let over = matches!(change.event.kind, EventKind::Sold | EventKind::NotSold);
    conn.prepare_cached(
        "INSERT INTO high_bid (id, auction_id, item_id, bidder_id, amount_cents, state, sequence, start_ms, end_ms, \
         bid_ms, bid_id, round, fence, preloaded) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0) \
         ON CONFLICT (id) DO UPDATE SET bidder_id = ?4, amount_cents = ?5, state = ?6, sequence = ?7, end_ms = ?9, \
         bid_ms = ?10, bid_id = ?11, fence = ?13, version = version + 1",
    )?
    .execute(params![
        change.listing,
        change.auction.0,
        bidding.item.0,
        bidding.bidder.0,
        bidding.amount,
        state,
        bidding.sequence,
        change.event.at_ms,
        over.then_some(change.event.at_ms),
        change.bid_ms,
        change.bid,
        change.round,
        change.fence
    ])?;
    if let Some(state) = item_state {
        conn.prepare_cached("UPDATE item SET state = ?2, version = version + 1 WHERE id = ?1")?
            .execute([bidding.item.0, state])?;
    }
    let unpaid = change.event.kind == EventKind::Sold && state == listing::NOT_SOLD;
    Ok(if unpaid { ChangeOutcome::Unpaid } else { ChangeOutcome::Stored })
}

/// Takes the price from the buyer's credit; returns whether it sufficed.
fn pay(conn: &Connection, change: &Change) -> Result<bool> {
    let bidding = change.event.bidding;
    let paid = conn
        .prepare_cached(
            "UPDATE user SET credit_cents = credit_cents - ?2, version = version + 1 \
             WHERE id = ?1 AND credit_cents >= ?2",
        )?
        .execute([bidding.bidder.0, bidding.amount])?;
    Ok(paid == 1)
}

/// Contents of the file when it was made.
pub(crate) fn initial(conn: &Connection) -> Result<Initial> {
    let number = |name: &str| -> Result<i64> {
        conn.prepare_cached("SELECT number FROM meta WHERE name = ?1")?.query_row([name], |row| row.get(0))
    };
    Ok(Initial {
        users: number("users")?,
        last_user: number("last_user")?,
        credit_cents: number("credit_cents")?,
    })
}

/// The audit. The caller ensures that all queries see the same state.
pub(crate) fn audit(conn: &Connection) -> Result<Audit> {
    let initial = initial(conn)?;
    let credit_cents = conn.query_row(
        "SELECT coalesce(SUM(credit_cents), 0) FROM user WHERE id <= ?1",
        [initial.last_user],
        |row| row.get(0),
    )?;
    let below_zero =
        conn.query_row("SELECT COUNT(*) FROM user WHERE credit_cents < 0", [], |row| row.get(0))?;
    let mut query = conn.prepare(&format!(
        "SELECT {HIGH_BID_COLUMNS}, high_bid.preloaded, item.starting_bid_cents, item.state \
         FROM high_bid JOIN item ON item.id = item_id WHERE end_ms IS NULL OR end_ms >= ?1 \
         ORDER BY high_bid.auction_id, round, high_bid.id"
    ))?;
    let offers = query.query_map([CLOCK_START_MS], |row| {
        Ok(ListingAudit {
            row: high_bid(row, 0)?,
            preloaded: row.get(13)?,
            starting_bid: row.get(14)?,
            item_state: row.get(15)?,
        })
    })?;
    Ok(Audit { initial, credit_cents, below_zero, offers: offers.collect::<Result<_>>()? })
}
