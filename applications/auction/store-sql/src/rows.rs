//! Conversion of rows to types of the interface. Each text lists the columns in the order of its function.

use barograph_auction_api::{
    Auction, AuctionId, AuctionState, Condition, Item, ItemId, ItemState, Page, Purchase, User, UserId,
};
use barograph_auction_store::{Account, HighBidRow, PageWindow, StoreError, codes};

use crate::value::Row;

/// Columns of an account, in the order of [`account`].
pub(crate) const USER_COLUMNS: &str = "id, name, first_name, last_name, credit_cents, enabled, password";

pub(crate) fn account(row: &Row) -> Result<Account, StoreError> {
    let user = User {
        id: UserId(row.int(0)?),
        name: row.text(1)?,
        first_name: row.text(2)?,
        last_name: row.text(3)?,
        credit_cents: row.int(4)?,
        enabled: row.int(5)? != 0,
    };
    Ok(Account { user, password: row.text(6)? })
}

pub(crate) const AUCTION_COLUMNS: &str = "id, name, category, state, start_ms, end_ms, auctioneer_id";

/// An auction whose first column is at `from`.
pub(crate) fn auction(row: &Row, from: usize) -> Result<Auction, StoreError> {
    let state = match row.int(from + 3)? {
        codes::auction::FUTURE => AuctionState::Future,
        codes::auction::RUNNING => AuctionState::Running,
        codes::auction::COMPLETE => AuctionState::Complete,
        _ => return Err(row.strange(from + 3)),
    };
    Ok(Auction {
        id: AuctionId(row.int(from)?),
        name: row.text(from + 1)?,
        category: row.text(from + 2)?,
        state,
        start_ms: row.int(from + 4)?,
        end_ms: row.number(from + 5)?,
        auctioneer_id: UserId(row.int(from + 6)?),
    })
}

/// The number of a state.
pub(crate) fn auction_state(state: AuctionState) -> i64 {
    match state {
        AuctionState::Future => codes::auction::FUTURE,
        AuctionState::Running => codes::auction::RUNNING,
        AuctionState::Complete => codes::auction::COMPLETE,
    }
}

pub(crate) const ITEM_COLUMNS: &str = "id, auction_id, auctioneer_id, state, item_condition, manufacturer, \
                                       short_description, long_description, origin_ms, starting_bid_cents";

/// An item whose first column is at `from`.
pub(crate) fn item(row: &Row, from: usize) -> Result<Item, StoreError> {
    let state = match row.int(from + 3)? {
        codes::item::NOT_LISTED => ItemState::NotListed,
        codes::item::IN_AUCTION => ItemState::InAuction,
        codes::item::ACTIVE => ItemState::Active,
        codes::item::SOLD => ItemState::Sold,
        _ => return Err(row.strange(from + 3)),
    };
    let condition = usize::try_from(row.int(from + 4)?).ok().and_then(|at| Condition::ALL.get(at).copied());
    Ok(Item {
        id: ItemId(row.int(from)?),
        auction_id: row.number(from + 1)?.map(AuctionId),
        auctioneer_id: UserId(row.int(from + 2)?),
        state,
        condition: condition.ok_or_else(|| row.strange(from + 4))?,
        manufacturer: row.text(from + 5)?,
        short_description: row.text(from + 6)?,
        long_description: row.text(from + 7)?,
        origin_ms: row.int(from + 8)?,
        starting_bid_cents: row.int(from + 9)?,
        images: Vec::new(),
    })
}

/// The number of a state.
pub(crate) fn item_state(state: ItemState) -> i64 {
    match state {
        ItemState::NotListed => codes::item::NOT_LISTED,
        ItemState::InAuction => codes::item::IN_AUCTION,
        ItemState::Active => codes::item::ACTIVE,
        ItemState::Sold => codes::item::SOLD,
    }
}

/// A purchase: item, auction, short description, amount, end.
pub(crate) fn purchase(row: &Row, from: usize) -> Result<Purchase, StoreError> {
    Ok(Purchase {
        item_id: ItemId(row.int(from)?),
        auction_id: AuctionId(row.int(from + 1)?),
        short_description: row.text(from + 2)?,
        amount_cents: row.int(from + 3)?,
        sold_ms: row.int(from + 4)?,
        images: Vec::new(),
    })
}

/// Listings, without a condition.
pub(crate) const HIGH_BID: &str = "SELECT h.id, h.auction_id, h.item_id, h.bidder_id, h.amount_cents, h.state, \
     h.sequence, h.start_ms, h.end_ms, h.bid_ms, h.bid_id, h.round, h.fence FROM barograph_high_bid h";

pub(crate) fn high_bid(row: &Row) -> Result<HighBidRow, StoreError> {
    Ok(HighBidRow {
        id: row.int(0)?,
        auction_id: row.int(1)?,
        item_id: row.int(2)?,
        bidder_id: row.int(3)?,
        amount_cents: row.int(4)?,
        state: row.int(5)?,
        sequence: row.int(6)?,
        start_ms: row.int(7)?,
        end_ms: row.number(8)?,
        bid_ms: row.int(9)?,
        bid_id: row.int(10)?,
        round: row.int(11)?,
        fence: row.int(12)?,
    })
}

/// Whether a text can be stored at all: PostgreSQL allows no zero bytes in texts, so one with them is never
/// found.
pub(crate) fn can_be_stored(text: &str) -> bool {
    !text.contains('\0')
}

/// Reads a page from rows that begin with the length of the whole list; a page behind the end is one row with
/// nothing else.
pub(crate) fn page<T>(
    rows: &[Row],
    window: PageWindow,
    entry: impl Fn(&Row, usize) -> Result<T, StoreError>,
) -> Result<Page<T>, StoreError> {
    let mut page = Page {
        items: Vec::with_capacity(rows.len()),
        page: window.page,
        page_size: window.size,
        total_records: 0,
    };
    for row in rows {
        page.total_records = u64::try_from(row.int(0)?).map_err(|_| row.strange(0))?;
        if row.number(1)?.is_some() {
            page.items.push(entry(row, 1)?);
        }
    }
    Ok(page)
}
