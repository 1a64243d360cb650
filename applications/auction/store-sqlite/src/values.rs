//! Conversion between numbers in the files and words on the wire.

use barograph_auction_api::{AttendanceState, AuctionState, BidOutcome, Condition, ItemState, Page};
use barograph_auction_store::{PageWindow, codes};
use rusqlite::{Connection, Row, ToSql};

/// The error of a number without a meaning: the file was not made by this program's fill.
fn unknown(column: usize, value: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(column, value)
}

pub(crate) fn auction_state(row: &Row<'_>, column: usize) -> rusqlite::Result<AuctionState> {
    match row.get(column)? {
        codes::auction::FUTURE => Ok(AuctionState::Future),
        codes::auction::RUNNING => Ok(AuctionState::Running),
        codes::auction::COMPLETE => Ok(AuctionState::Complete),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn auction_number(state: AuctionState) -> i64 {
    match state {
        AuctionState::Future => codes::auction::FUTURE,
        AuctionState::Running => codes::auction::RUNNING,
        AuctionState::Complete => codes::auction::COMPLETE,
    }
}

pub(crate) fn item_state(row: &Row<'_>, column: usize) -> rusqlite::Result<ItemState> {
    match row.get(column)? {
        codes::item::NOT_LISTED => Ok(ItemState::NotListed),
        codes::item::IN_AUCTION => Ok(ItemState::InAuction),
        codes::item::ACTIVE => Ok(ItemState::Active),
        codes::item::SOLD => Ok(ItemState::Sold),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn item_number(state: ItemState) -> i64 {
    match state {
        ItemState::NotListed => codes::item::NOT_LISTED,
        ItemState::InAuction => codes::item::IN_AUCTION,
        ItemState::Active => codes::item::ACTIVE,
        ItemState::Sold => codes::item::SOLD,
    }
}

pub(crate) fn bid_outcome(row: &Row<'_>, column: usize) -> rusqlite::Result<BidOutcome> {
    match row.get(column)? {
        codes::bid::HIGH => Ok(BidOutcome::High),
        codes::bid::WINNING => Ok(BidOutcome::Winning),
        codes::bid::PROPOSED => Ok(BidOutcome::Proposed),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn attendance_state(row: &Row<'_>, column: usize) -> rusqlite::Result<AttendanceState> {
    match row.get(column)? {
        codes::attendance::ATTENDING => Ok(AttendanceState::Attending),
        codes::attendance::LEFT => Ok(AttendanceState::Left),
        codes::attendance::AUCTION_COMPLETE => Ok(AttendanceState::AuctionComplete),
        other => Err(unknown(column, other)),
    }
}

pub(crate) fn condition(row: &Row<'_>, column: usize) -> rusqlite::Result<Condition> {
    let number: i64 = row.get(column)?;
    let index = usize::try_from(number).ok();
    index.and_then(|i| Condition::ALL.get(i).copied()).ok_or_else(|| unknown(column, number))
}

/// Reads the count in the first column.
fn count(row: &Row<'_>) -> rusqlite::Result<u64> {
    let number: i64 = row.get(0)?;
    u64::try_from(number).map_err(|_| unknown(0, number))
}

/// The two queries of a page: the total count, and the page itself, with two more values: entries and offset.
pub(crate) struct PageQueries<'a> {
    pub(crate) count: &'a str,
    pub(crate) page: &'a str,
}

/// Reads a page. `values` are those of both queries. The caller ensures that both see the same state.
pub(crate) fn page<T>(
    conn: &Connection,
    queries: &PageQueries<'_>,
    (values, window): (&[&dyn ToSql], PageWindow),
    entry: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Page<T>> {
    let total_records = conn.prepare_cached(queries.count)?.query_row(values, count)?;
    let (size, offset) = (i64::from(window.size), window.offset());
    let mut all: Vec<&dyn ToSql> = Vec::with_capacity(values.len() + 2);
    all.extend_from_slice(values);
    all.push(&size);
    all.push(&offset);
    let mut query = conn.prepare_cached(queries.page)?;
    let items = query.query_map(&*all, entry)?.collect::<rusqlite::Result<_>>()?;
    Ok(Page { items, page: window.page, page_size: window.size, total_records })
}
