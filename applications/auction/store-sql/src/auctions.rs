//! Auctions, and the state that a new owner takes over.

use std::collections::HashMap;

use barograph_auction_api::{Auction, AuctionId, Cents, ItemId, Millis, Page};
use barograph_auction_rules::Listing;
use barograph_auction_store::{AuctionFilter, HighBidRow, PageWindow, StartState, StoreError, codes};

use crate::pages::List;
use crate::rows::{self, AUCTION_COLUMNS, HIGH_BID, can_be_stored};
use crate::search;
use crate::sql::Sql;
use crate::value::{Answer, Statement, Value, values};

impl Sql {
    pub(crate) async fn auction_of(&self, id: AuctionId) -> Result<Option<Auction>, StoreError> {
        let sql = format!("SELECT {AUCTION_COLUMNS} FROM barograph_auction WHERE id = ?");
        let rows = self.read("read an auction", Statement::new(sql, values![id.0])).await?;
        rows.first().map(|row| rows::auction(row, 0)).transpose()
    }

    pub(crate) async fn auction_page(
        &self,
        filter: &AuctionFilter,
        window: PageWindow,
    ) -> Result<Page<Auction>, StoreError> {
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        if let Some(state) = filter.state {
            conditions.push("state = ?");
            values.push(rows::auction_state(state).into());
        }
        if let Some(category) = &filter.category {
            conditions.push("category = ?");
            values.push(category.as_str().into());
        }
        if let Some(text) = &filter.text {
            conditions.push("folded_name LIKE ? ESCAPE '!'");
            values.push(containing(&search::fold_case(text)).into());
        }
        if !filter.category.iter().chain(&filter.text).all(|text| can_be_stored(text)) {
            let (items, page) = (Vec::new(), window.page);
            return Ok(Page { items, page, page_size: window.size, total_records: 0 });
        }
        let list = List::of(filtered("barograph_auction", &conditions), values, AUCTION_COLUMNS);
        let rows = self.read("list auctions", list.page(window)).await?;
        rows::page(&rows, window, rows::auction)
    }

    /// Running auctions, all or one, by id.
    pub(crate) async fn start_states(&self, only: Option<AuctionId>) -> Result<Vec<StartState>, StoreError> {
        const RUNNING: i64 = codes::auction::RUNNING;
        // Two different texts, so that the planner knows which of the two cases it is.
        let (chosen, values) = match only {
            Some(id) => ("a.state = ? AND a.id = ?", values![RUNNING, id.0]),
            None => ("a.state = ?", values![RUNNING]),
        };
        let columns =
            AUCTION_COLUMNS.split(", ").map(|column| format!("a.{column}")).collect::<Vec<_>>().join(", ");
        let auctions = format!("SELECT {columns} FROM barograph_auction a WHERE {chosen} ORDER BY a.id");
        let items = format!(
            "SELECT i.auction_id, i.id, i.starting_bid_cents FROM barograph_auction a \
             JOIN barograph_item i ON i.auction_id = a.id WHERE {chosen} ORDER BY i.auction_id, i.id"
        );
        // The join is on one row that is looked up for each auction. A join on the greatest round of each
        // auction gives the same, but PostgreSQL reads the whole table for it.
        let latest = HIGH_BID
            .replace(" FROM barograph_high_bid h", ", u.credit_cents FROM barograph_auction a")
            + &format!(
                " JOIN barograph_high_bid h ON h.id = (SELECT r.id FROM barograph_high_bid r \
                 WHERE r.auction_id = a.id ORDER BY r.round DESC, r.id DESC LIMIT 1) \
                 LEFT JOIN barograph_user u ON u.id = h.bidder_id WHERE {chosen}"
            );
        let statements =
            [auctions, items, latest].into_iter().map(|sql| Statement::new(sql, values.clone())).collect();
        start_states(&self.snapshot("read running auctions", statements).await?)
    }

    pub(crate) async fn begin_auctions(&self, now: Millis) -> Result<Vec<AuctionId>, StoreError> {
        let future = codes::auction::FUTURE;
        let due = Statement::new(
            "SELECT id FROM barograph_auction WHERE state = ? AND start_ms <= ? ORDER BY id FOR UPDATE",
            values![future, now],
        );
        self.transact("begin auctions", vec![due], |answers| {
            let rows = answers.first().map(|answer| answer.rows.as_slice()).unwrap_or_default();
            let ids: Vec<i64> = rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
            let begun = ids.iter().copied().map(AuctionId).collect();
            if ids.is_empty() {
                return Ok((Vec::new(), begun));
            }
            let running = values![codes::auction::RUNNING, ids];
            let update = Statement::new("UPDATE barograph_auction SET state = ? WHERE id ?in", running);
            Ok((vec![update, Statement::plain(crate::registry::RAISE_VERSION)], begun))
        })
        .await
    }

    pub(crate) async fn earliest_start(&self) -> Result<Option<Millis>, StoreError> {
        let sql = "SELECT MIN(start_ms) FROM barograph_auction WHERE state = ?";
        let rows = self
            .read("look for the next start", Statement::new(sql, values![codes::auction::FUTURE]))
            .await?;
        rows.first().map_or(Ok(None), |row| row.number(0))
    }

    pub(crate) async fn listing_of(&self, id: i64) -> Result<Option<HighBidRow>, StoreError> {
        let statement = Statement::new(format!("{HIGH_BID} WHERE h.id = ?"), values![id]);
        let rows = self.read("read a listing", statement).await?;
        rows.first().map(rows::high_bid).transpose()
    }

    pub(crate) async fn last_sale_of(&self, auction: AuctionId) -> Result<Option<HighBidRow>, StoreError> {
        let sql = format!(
            "{HIGH_BID} WHERE h.auction_id = ? AND h.state = ? AND h.fence > 0 ORDER BY h.round DESC, h.id DESC LIMIT 1"
        );
        let rows =
            self.read("read a sale", Statement::new(sql, values![auction.0, codes::high_bid::SOLD])).await?;
        rows.first().map(rows::high_bid).transpose()
    }
}

/// A table with conditions that must all hold.
pub(crate) fn filtered(table: &str, conditions: &[&str]) -> String {
    if conditions.is_empty() {
        table.to_owned()
    } else {
        format!("{table} WHERE {}", conditions.join(" AND "))
    }
}

/// The pattern of texts that contain this one.
fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Builds the states from the answers about auctions, items and latest listings; auctions keep their order.
fn start_states(answers: &[Answer]) -> Result<Vec<StartState>, StoreError> {
    let [auctions, items, latest] = answers else { return Ok(Vec::new()) };
    let mut listings: HashMap<i64, Vec<Listing>> = HashMap::new();
    for row in &items.rows {
        let listing = Listing { item: ItemId(row.int(1)?), starting_bid: row.int(2)? };
        listings.entry(row.int(0)?).or_default().push(listing);
    }
    let mut ongoing: HashMap<i64, (HighBidRow, Cents)> = HashMap::new();
    for row in &latest.rows {
        let high = rows::high_bid(row)?;
        ongoing.insert(high.auction_id, (high, row.number(13)?.unwrap_or(0)));
    }
    let state = |row| {
        let auction = rows::auction(row, 0)?;
        let (latest, bidder_credit) = ongoing.remove(&auction.id.0).map_or((None, 0), |(l, c)| (Some(l), c));
        let items = listings.remove(&auction.id.0).unwrap_or_default();
        Ok(StartState { auction, items, latest, bidder_credit })
    };
    auctions.rows.iter().map(state).collect()
}
