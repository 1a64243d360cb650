//! Users' histories in their wire form, and the order of lists.

use barograph_auction_api::{
    AttendanceRecord, AttendanceState, AuctionId, BidOutcome, BidRecord, ItemId, Page, UserId,
};
use barograph_auction_store::{AttendanceRow, BidRow, ImageRow, PageWindow, StoreError, codes};

use crate::failure::refused;

/// A bid in its wire form.
pub(crate) fn bid(store: &'static str, row: &BidRow) -> Result<BidRecord, StoreError> {
    let impossible = |what: &str| refused(store, "read a bid", format!("bid {}: {what}", row.id));
    let outcome = match row.state {
        codes::bid::HIGH => BidOutcome::High,
        codes::bid::WINNING => BidOutcome::Winning,
        codes::bid::PROPOSED => BidOutcome::Proposed,
        other => return Err(impossible(&format!("state {other}"))),
    };
    Ok(BidRecord {
        id: row.id,
        auction_id: AuctionId(row.auction_id),
        item_id: ItemId(row.item_id),
        amount_cents: row.amount_cents,
        sequence: u32::try_from(row.sequence)
            .map_err(|_| impossible("its sequence number is no such number"))?,
        bid_ms: row.bid_ms,
        outcome,
    })
}

/// An attendance in its wire form.
pub(crate) fn attendance(store: &'static str, row: AttendanceRow) -> Result<AttendanceRecord, StoreError> {
    let state = match row.state {
        codes::attendance::ATTENDING => AttendanceState::Attending,
        codes::attendance::LEFT => AttendanceState::Left,
        codes::attendance::AUCTION_COMPLETE => AttendanceState::AuctionComplete,
        other => {
            return Err(refused(
                store,
                "read an attendance",
                format!("attendance {}: state {other}", row.id),
            ));
        }
    };
    Ok(AttendanceRecord {
        id: row.id,
        user_id: UserId(row.user_id),
        auction_id: AuctionId(row.auction_id),
        auction_name: row.auction_name.into_owned(),
        record_ms: row.record_ms,
        state,
    })
}

/// Sorts a list by time, then id, latest first.
pub(crate) fn latest_first<T>(rows: &mut [T], at: impl Fn(&T) -> (i64, i64)) {
    rows.sort_unstable_by_key(|row| std::cmp::Reverse(at(row)));
}

/// Sorts images into their display order.
pub(crate) fn sort_images(rows: &mut [ImageRow]) {
    rows.sort_unstable_by_key(|row| (row.item_id, row.number, row.id));
}

/// Sorts bids into the order of the data checks.
pub(crate) fn sort_by_listing(rows: &mut [BidRow]) {
    rows.sort_unstable_by_key(|row| (row.listing, row.sequence, row.id));
}

/// The part of a whole list within a window, with the total.
pub(crate) fn slice<T>(rows: Vec<T>, window: PageWindow) -> (u64, impl Iterator<Item = T>) {
    let total = rows.len() as u64;
    let before = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    (total, rows.into_iter().skip(before).take(window.size as usize))
}

/// A page of a list with a known total.
pub(crate) fn page<T>(items: Vec<T>, window: PageWindow, total_records: u64) -> Page<T> {
    Page { items, page: window.page, page_size: window.size, total_records }
}
