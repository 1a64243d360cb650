//! Attendance of users at auctions.

use barograph_auction_api::{AttendanceRecord, AuctionId, Page, UserId};
use barograph_auction_store::{AttendanceRow, PageWindow, codes};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use crate::values::{self, PageQueries, attendance_state};

macro_rules! select_attendance {
    ($rest:literal) => {
        concat!("SELECT id, user_id, auction_id, auction_name, record_ms, state FROM attendance ", $rest)
    };
}

fn record(row: &Row<'_>) -> Result<AttendanceRecord> {
    Ok(AttendanceRecord {
        id: row.get(0)?,
        user_id: UserId(row.get(1)?),
        auction_id: AuctionId(row.get(2)?),
        auction_name: row.get(3)?,
        record_ms: row.get(4)?,
        state: attendance_state(row, 5)?,
    })
}

/// Joins an auction. The only writer thread makes this safe: no other join comes between the read and the
/// insert.
pub(crate) fn join(conn: &Connection, new: &AttendanceRow) -> Result<AttendanceRecord> {
    // The state as a number, here and below, so that the partial index is used.
    let mut query = conn
        .prepare_cached(select_attendance!("WHERE user_id = ?1 AND auction_id = ?2 AND state = 0 LIMIT 1"))?;
    if let Some(found) = query.query_row([new.user_id, new.auction_id], record).optional()? {
        return Ok(found);
    }
    conn.prepare_cached(
        "INSERT INTO attendance (user_id, record_ms, id, auction_id, auction_name, state, preloaded) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
    )?
    .execute(params![
        new.user_id,
        new.record_ms,
        new.id,
        new.auction_id,
        new.auction_name,
        new.state
    ])?;
    let mut query =
        conn.prepare_cached(select_attendance!("WHERE user_id = ?1 AND record_ms = ?2 AND id = ?3"))?;
    query.query_row([new.user_id, new.record_ms, new.id], record)
}

pub(crate) fn leave(conn: &Connection, user: UserId, auction: Option<AuctionId>) -> Result<usize> {
    let left = codes::attendance::LEFT;
    match auction {
        Some(auction) => conn
            .prepare_cached(
                "UPDATE attendance SET state = ?3 WHERE user_id = ?1 AND auction_id = ?2 AND state = 0",
            )?
            .execute([user.0, auction.0, left]),
        None => conn
            .prepare_cached("UPDATE attendance SET state = ?2 WHERE user_id = ?1 AND state = 0")?
            .execute([user.0, left]),
    }
}

pub(crate) fn of_user(conn: &Connection, user: UserId, window: PageWindow) -> Result<Page<AttendanceRecord>> {
    let queries = PageQueries {
        count: "SELECT COUNT(*) FROM attendance WHERE user_id = ?1",
        page: select_attendance!("WHERE user_id = ?1 ORDER BY record_ms DESC, id DESC LIMIT ?2 OFFSET ?3"),
    };
    values::page(conn, &queries, (&[&user.0], window), record)
}

pub(crate) fn doubled(conn: &Connection) -> Result<Vec<(UserId, AuctionId)>> {
    let mut query = conn.prepare(
        "SELECT user_id, auction_id FROM attendance WHERE state = 0 \
         GROUP BY user_id, auction_id HAVING COUNT(*) > 1 ORDER BY user_id, auction_id",
    )?;
    query.query_map([], |row| Ok((UserId(row.get(0)?), AuctionId(row.get(1)?))))?.collect()
}
