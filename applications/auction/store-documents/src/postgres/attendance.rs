//! Attendance.

use barograph_auction_api::{AttendanceRecord, AuctionId, Page, UserId};
use barograph_auction_store::{AttendanceRow, PageWindow, StoreError};
use tokio_postgres::Row;

use super::link::{STORE, bulk, read, write};
use super::{Postgres, document, text};
use crate::documents::AttendanceDocument;
use crate::failure::RACES;
use crate::histories;

/// The open attendance, or else a new one; no row if another join makes one at this moment.
const JOIN: &str = "
    WITH there AS (
        SELECT user_id, id, doc FROM auction_events.attendance
        WHERE user_id = $1 AND auction = $4 AND doc->>'state' = '0' ORDER BY ms, id LIMIT 1),
    made AS (
        INSERT INTO auction_events.attendance (user_id, ms, id, auction, doc)
        SELECT $1, $2, $3, $4, ($5::text)::jsonb WHERE NOT EXISTS (SELECT FROM there)
        ON CONFLICT DO NOTHING RETURNING user_id, id, doc)
    SELECT user_id, id, doc::text FROM there UNION ALL SELECT user_id, id, doc::text FROM made";

/// The requested attendance itself, in any state.
const SAME: &str = "
    SELECT user_id, id, doc::text FROM auction_events.attendance WHERE user_id = $1 AND ms = $2 AND id = $3";

/// Ends a user's attendance of one auction, or of all.
const LEAVE: &str = "
    UPDATE auction_events.attendance SET doc = jsonb_set(doc, '{state}', '1')
    WHERE user_id = $1 AND doc->>'state' = '0' AND ($2::bigint IS NULL OR auction = $2)";

/// One scan of the user's rows gives the page and the total.
const HISTORY: &str = "
    SELECT user_id, id, doc::text, count(*) OVER () FROM auction_events.attendance
    WHERE user_id = $1 ORDER BY ms DESC, id DESC LIMIT $2 OFFSET $3";

/// The total, for a page behind the last row.
const TOTAL: &str = "SELECT count(*) FROM auction_events.attendance WHERE user_id = $1";

/// Users who attend an auction more than once, for the data checks.
const DOUBLES: &str = "
    SELECT user_id, auction FROM auction_events.attendance WHERE doc->>'state' = '0'
    GROUP BY user_id, auction HAVING count(*) > 1 ORDER BY user_id, auction";

impl Postgres {
    pub(super) async fn join_auction(&self, wanted: AttendanceRow) -> Result<AttendanceRecord, StoreError> {
        let deed = write("join an auction");
        let AttendanceRow { user_id, record_ms, id, auction_id, .. } = &wanted;
        let document = text(&AttendanceDocument::of(&wanted))?;
        for _ in 0..RACES {
            let mut rows =
                self.link.query(deed, JOIN, &[user_id, record_ms, id, auction_id, &document]).await?;
            if rows.is_empty() {
                rows = self.link.query(deed, SAME, &[user_id, record_ms, id]).await?;
            }
            if let Some(row) = rows.first() {
                return histories::attendance(STORE, attendance(row)?);
            }
        }
        Err(deed.unreachable("others join and leave for the same user all the time".into()))
    }

    pub(super) async fn leave_auctions(&self, user: i64, auction: Option<i64>) -> Result<usize, StoreError> {
        let left = self.link.execute(write("leave auctions"), LEAVE, &[&user, &auction]).await?;
        Ok(usize::try_from(left).unwrap_or(usize::MAX))
    }

    pub(super) async fn attendance_history(
        &self,
        user: i64,
        window: PageWindow,
    ) -> Result<Page<AttendanceRecord>, StoreError> {
        let deed = read("read a user's attendances");
        let (rows, total) = self.history(deed, [HISTORY, TOTAL], (user, window)).await?;
        let records = rows
            .iter()
            .map(|row| histories::attendance(STORE, attendance(row)?))
            .collect::<Result<_, _>>()?;
        Ok(histories::page(records, window, total))
    }

    pub(super) async fn doubles(&self) -> Result<Vec<(UserId, AuctionId)>, StoreError> {
        let rows = self.link.query(bulk(read("look for double attendance")), DOUBLES, &[]).await?;
        Ok(rows.iter().map(|row| (UserId(row.get(0)), AuctionId(row.get(1)))).collect())
    }
}

/// An attendance in the columns user, id, document.
fn attendance(row: &Row) -> Result<AttendanceRow, StoreError> {
    Ok(document::<AttendanceDocument>(row, 2)?.row(row.get(0), row.get(1)))
}
