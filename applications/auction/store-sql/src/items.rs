//! Items and purchases.

use barograph_auction_api::{AuctionId, Item, ItemId, Page, Purchase, UserId};
use barograph_auction_store::{ItemFilter, ItemRow, ItemUpdateOutcome, PageWindow, Span, StoreError, codes};

use crate::auctions::filtered;
use crate::pages::List;
use crate::rows::{self, ITEM_COLUMNS};
use crate::search;
use crate::sql::Sql;
use crate::value::{Statement, Value, values};

impl Sql {
    pub(crate) async fn item_of(&self, id: ItemId) -> Result<Option<Item>, StoreError> {
        let sql = format!("SELECT {ITEM_COLUMNS} FROM barograph_item WHERE id = ?");
        let rows = self.read("read an item", Statement::new(sql, values![id.0])).await?;
        rows.first().map(|row| rows::item(row, 0)).transpose()
    }

    pub(crate) async fn items_of_auction(
        &self,
        auction: AuctionId,
        window: PageWindow,
    ) -> Result<Page<Item>, StoreError> {
        let from = "barograph_item WHERE auction_id = ?".to_owned();
        self.item_list(List::of(from, values![auction.0], ITEM_COLUMNS), window).await
    }

    pub(crate) async fn items_of_seller(
        &self,
        seller: UserId,
        window: PageWindow,
    ) -> Result<Page<Item>, StoreError> {
        let from = "barograph_item WHERE auctioneer_id = ?".to_owned();
        let list = List::of(from, values![seller.0], ITEM_COLUMNS);
        self.item_list(List { order: "id DESC", page_order: "p.id DESC", ..list }, window).await
    }

    pub(crate) async fn items_where(
        &self,
        filter: &ItemFilter,
        window: PageWindow,
    ) -> Result<Page<Item>, StoreError> {
        let flavour = self.inner().flavour;
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        if let Some(wanted) = filter.text.as_ref().and_then(|text| search::wanted(text, flavour)) {
            conditions.push(search::condition(flavour));
            values.push(wanted.into());
        }
        let numbers = [
            ("state = ?", filter.state.map(rows::item_state)),
            ("item_condition = ?", filter.condition),
            ("starting_bid_cents >= ?", filter.from_cents),
            ("starting_bid_cents <= ?", filter.to_cents),
        ];
        for (condition, value) in numbers {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(value.into());
            }
        }
        let list = List::of(filtered("barograph_item", &conditions), values, ITEM_COLUMNS);
        self.item_list(list, window).await
    }

    async fn item_list(&self, list: List, window: PageWindow) -> Result<Page<Item>, StoreError> {
        let rows = self.read("list items", list.page(window)).await?;
        rows::page(&rows, window, rows::item)
    }

    pub(crate) async fn insert_item(&self, item: ItemRow) -> Result<(), StoreError> {
        let words = search::stored(&item.short_description, self.inner().flavour);
        let statement = Statement::new(
            "INSERT INTO barograph_item (id, auction_id, auctioneer_id, item_condition, manufacturer, \
             short_description, long_description, origin_ms, starting_bid_cents, state, search_words) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values![
                item.id,
                item.auction_id,
                item.auctioneer_id,
                item.condition,
                item.manufacturer.into_owned(),
                item.short_description,
                item.long_description,
                item.origin_ms,
                item.starting_bid_cents,
                item.state,
                words,
            ],
        );
        self.change("add an item", vec![statement]).await.map(drop)
    }

    pub(crate) async fn change_item(&self, item: ItemRow) -> Result<ItemUpdateOutcome, StoreError> {
        let words = search::stored(&item.short_description, self.inner().flavour);
        let lock = "SELECT auctioneer_id, auction_id FROM barograph_item WHERE id = ? FOR UPDATE";
        let update = Statement::new(
            "UPDATE barograph_item SET item_condition = ?, manufacturer = ?, short_description = ?, \
             long_description = ?, origin_ms = ?, starting_bid_cents = ?, search_words = ? \
             WHERE id = ? AND auctioneer_id = ? AND auction_id IS NULL",
            values![
                item.condition,
                item.manufacturer.into_owned(),
                item.short_description,
                item.long_description,
                item.origin_ms,
                item.starting_bid_cents,
                words,
                item.id,
                item.auctioneer_id,
            ],
        );
        let after = format!("SELECT {ITEM_COLUMNS} FROM barograph_item WHERE id = ?");
        let statements =
            vec![Statement::new(lock, values![item.id]), update, Statement::new(after, values![item.id])];
        let answers = self.change("change an item", statements).await?;
        let found = |n: usize| answers.get(n).and_then(|answer| answer.rows.first());
        let (Some(before), Some(after)) = (found(0), found(2)) else {
            return Ok(ItemUpdateOutcome::NoSuchItem);
        };
        if before.int(0)? != item.auctioneer_id {
            return Ok(ItemUpdateOutcome::NotOwner);
        }
        if before.number(1)?.is_some() {
            return Ok(ItemUpdateOutcome::Listed);
        }
        Ok(ItemUpdateOutcome::Done(Box::new(rows::item(after, 0)?)))
    }

    pub(crate) async fn bought(
        &self,
        user: UserId,
        span: Span,
        window: PageWindow,
    ) -> Result<Page<Purchase>, StoreError> {
        let sold = "bidder_id = ? AND h.state = ? AND end_ms >= ? AND end_ms < ?";
        let list = List {
            counted: format!("barograph_high_bid h WHERE {sold}"),
            read: format!("barograph_high_bid h JOIN barograph_item i ON i.id = h.item_id WHERE {sold}"),
            values: values![user.0, codes::high_bid::SOLD, span.from, span.to],
            columns: "h.item_id, h.auction_id, i.short_description, h.amount_cents, h.end_ms, h.id",
            order: "h.end_ms DESC, h.id DESC",
            page_order: "p.end_ms DESC, p.id DESC",
        };
        let rows = self.read("list purchases", list.page(window)).await?;
        rows::page(&rows, window, rows::purchase)
    }
}
