//! Who attends which auction.

use barograph_auction_api::{AttendanceRecord, AttendanceState, AuctionId, Page, UserId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::rows::{self, Window, attendance_state};
use super::{Store, StoreError};
use crate::codes;

const COLUMNS: &str = "id, user_id, auction_id, auction_name, record_ms, state";

fn record(row: &Row<'_>) -> rusqlite::Result<AttendanceRecord> {
    Ok(AttendanceRecord {
        id: row.get(0)?,
        user_id: UserId(row.get(1)?),
        auction_id: AuctionId(row.get(2)?),
        auction_name: row.get(3)?,
        record_ms: row.get(4)?,
        state: attendance_state(row, 5)?,
    })
}

impl Store {
    /// Records that a user attends an auction; somebody who attends it already keeps the record there is.
    pub(crate) async fn join(
        &self,
        user: UserId,
        auction: (AuctionId, String),
        now: i64,
    ) -> Result<AttendanceRecord, StoreError> {
        let id = self.new_id();
        let change = move |conn: &Connection| {
            let (auction_id, auction_name) = auction;
            let mut query = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM attendance WHERE user_id = ?1 AND auction_id = ?2 AND state = ?3 LIMIT 1"
            ))?;
            let found =
                query.query_row([user.0, auction_id.0, codes::attendance::ATTENDING], record).optional()?;
            if let Some(found) = found {
                return Ok(found);
            }
            let state = codes::attendance::ATTENDING;
            conn.prepare_cached("INSERT INTO attendance VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)")?
                .execute(rusqlite::params![user.0, now, id, auction_id.0, auction_name, state])?;
            Ok(AttendanceRecord {
                id,
                user_id: user,
                auction_id,
                auction_name,
                record_ms: now,
                state: AttendanceState::Attending,
            })
        };
        self.events.write(change).await
    }

    /// Marks a user's open attendance as left: at one auction, or at all of them. Answers how many there were.
    pub(crate) async fn leave(&self, user: UserId, auction: Option<AuctionId>) -> Result<usize, StoreError> {
        let change = move |conn: &Connection| {
            conn.prepare_cached(
                "UPDATE attendance SET state = ?2 WHERE user_id = ?1 AND state = ?3 \
                 AND (?4 IS NULL OR auction_id = ?4)",
            )?
            .execute(rusqlite::params![
                user.0,
                codes::attendance::LEFT,
                codes::attendance::ATTENDING,
                auction.map(|a| a.0)
            ])
        };
        self.events.write(change).await
    }

    /// A page of a user's attendances, latest first.
    pub(crate) fn user_attendance(
        &self,
        user: UserId,
        window: Window,
    ) -> Result<Page<AttendanceRecord>, StoreError> {
        self.readers.read_together(|conn| {
            let mut count =
                conn.prepare_cached("SELECT COUNT(*) FROM events.attendance WHERE user_id = ?1")?;
            let total_records = count.query_row([user.0], rows::count)?;
            let mut query = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM events.attendance WHERE user_id = ?1 \
                 ORDER BY record_ms DESC, id DESC LIMIT ?2 OFFSET ?3"
            ))?;
            let rows = query.query_map([user.0, i64::from(window.size), window.offset()], record)?;
            let items = rows.collect::<Result<_, _>>()?;
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }
}
