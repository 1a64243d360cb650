//! Rows of a load in their tables.

use std::borrow::Cow;

use barograph_auction_store::{AuctionRow, HighBidRow, ItemRow, UserRow};

use crate::search;
use crate::text::Flavour;

/// A value of a row.
pub(crate) enum Cell<'a> {
    Int(i64),
    Text(Cow<'a, str>),
    Null,
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Cell::Null, Cell::Int)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Cell<'_> {
    fn from(value: String) -> Self {
        Cell::Text(Cow::Owned(value))
    }
}

/// A kind of rows loaded into one table.
pub(crate) trait Sheet: Sync {
    const TABLE: &'static str;
    const COLUMNS: &'static [&'static str];

    /// The row, in the order of the columns.
    fn cells(&self, flavour: Flavour) -> Vec<Cell<'_>>;
}

macro_rules! cells {
    ($($value:expr),* $(,)?) => { vec![$(Cell::from($value)),*] };
}

impl Sheet for UserRow {
    const TABLE: &'static str = "barograph_user";
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "password", "first_name", "last_name", "credit_cents", "enabled"];

    fn cells(&self, _: Flavour) -> Vec<Cell<'_>> {
        cells![
            self.id,
            self.name.as_str(),
            self.password.as_str(),
            self.first_name.as_ref(),
            self.last_name.as_ref(),
            self.credit_cents,
            i64::from(self.enabled),
        ]
    }
}

impl Sheet for AuctionRow {
    const TABLE: &'static str = "barograph_auction";
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "folded_name", "category", "start_ms", "end_ms", "state", "auctioneer_id"];

    fn cells(&self, _: Flavour) -> Vec<Cell<'_>> {
        cells![
            self.id,
            self.name.as_ref(),
            search::fold_case(&self.name),
            self.category.as_ref(),
            self.start_ms,
            self.end_ms,
            self.state,
            self.auctioneer_id,
        ]
    }
}

impl Sheet for ItemRow {
    const TABLE: &'static str = "barograph_item";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "auction_id",
        "auctioneer_id",
        "item_condition",
        "manufacturer",
        "short_description",
        "long_description",
        "origin_ms",
        "starting_bid_cents",
        "state",
        "search_words",
    ];

    fn cells(&self, flavour: Flavour) -> Vec<Cell<'_>> {
        cells![
            self.id,
            self.auction_id,
            self.auctioneer_id,
            self.condition,
            self.manufacturer.as_ref(),
            self.short_description.as_str(),
            self.long_description.as_str(),
            self.origin_ms,
            self.starting_bid_cents,
            self.state,
            search::stored(&self.short_description, flavour),
        ]
    }
}

impl Sheet for HighBidRow {
    const TABLE: &'static str = "barograph_high_bid";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "auction_id",
        "item_id",
        "bidder_id",
        "amount_cents",
        "state",
        "sequence",
        "start_ms",
        "end_ms",
        "bid_ms",
        "bid_id",
        "round",
        "fence",
        "preloaded",
    ];

    fn cells(&self, _: Flavour) -> Vec<Cell<'_>> {
        cells![
            self.id,
            self.auction_id,
            self.item_id,
            self.bidder_id,
            self.amount_cents,
            self.state,
            self.sequence,
            self.start_ms,
            self.end_ms,
            self.bid_ms,
            self.bid_id,
            self.round,
            self.fence,
            1,
        ]
    }
}
