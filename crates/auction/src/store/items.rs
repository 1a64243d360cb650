//! Items with their images, and purchases.

use barograph_auction_api::{
    AuctionId, ImageId, ImageLink, Item, ItemId, NewItem, Page, Purchase, UserId, routes,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::rows::{self, Span, Window, condition, condition_number, image_sizes, item_state};
use super::{Store, StoreError};
use crate::codes;

const COLUMNS: &str = "id, auction_id, auctioneer_id, state, condition, manufacturer, short_description, \
                       long_description, origin_ms, starting_bid_cents";

fn item(row: &Row<'_>) -> rusqlite::Result<Item> {
    Ok(Item {
        id: ItemId(row.get(0)?),
        auction_id: row.get::<_, Option<i64>>(1)?.map(AuctionId),
        auctioneer_id: UserId(row.get(2)?),
        state: item_state(row, 3)?,
        condition: condition(row, 4)?,
        manufacturer: row.get(5)?,
        short_description: row.get(6)?,
        long_description: row.get(7)?,
        origin_ms: row.get(8)?,
        starting_bid_cents: row.get(9)?,
        images: Vec::new(),
    })
}

fn images(conn: &Connection, item: ItemId) -> rusqlite::Result<Vec<ImageLink>> {
    let mut query =
        conn.prepare_cached("SELECT id, sizes FROM events.image WHERE item_id = ?1 ORDER BY number")?;
    let rows = query.query_map([item.0], |row| {
        let id = ImageId(row.get(0)?);
        Ok(ImageLink { id, href: routes::image_href(item, id), sizes: image_sizes(row.get(1)?) })
    })?;
    rows.collect()
}

impl Store {
    /// One item with its images.
    pub(crate) fn item(&self, id: ItemId) -> Result<Option<Item>, StoreError> {
        self.readers.read_together(|conn| {
            let mut query = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM item WHERE id = ?1"))?;
            let Some(mut item) = query.query_row([id.0], item).optional()? else { return Ok(None) };
            item.images = images(conn, id)?;
            Ok(Some(item))
        })
    }

    /// A page of the items of an auction, by id.
    pub(crate) fn auction_items(&self, auction: AuctionId, window: Window) -> Result<Page<Item>, StoreError> {
        self.readers.read_together(|conn| {
            let mut count = conn.prepare_cached("SELECT COUNT(*) FROM item WHERE auction_id = ?1")?;
            let total_records = count.query_row([auction.0], rows::count)?;
            let mut query = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM item WHERE auction_id = ?1 ORDER BY id LIMIT ?2 OFFSET ?3"
            ))?;
            let rows = query.query_map([auction.0, i64::from(window.size), window.offset()], item)?;
            let mut items: Vec<Item> = rows.collect::<Result<_, _>>()?;
            for item in &mut items {
                item.images = images(conn, item.id)?;
            }
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }

    /// A page of what a user bought in a span of time, latest first.
    pub(crate) fn purchases(
        &self,
        user: UserId,
        span: Span,
        window: Window,
    ) -> Result<Page<Purchase>, StoreError> {
        self.readers.read_together(|conn| {
            let sold = codes::high_bid::SOLD;
            let mut count = conn.prepare_cached(
                "SELECT COUNT(*) FROM high_bid WHERE bidder_id = ?1 AND state = ?2 AND end_ms >= ?3 AND end_ms < ?4",
            )?;
            let total_records = count.query_row([user.0, sold, span.from, span.to], rows::count)?;
            let mut query = conn.prepare_cached(
                "SELECT h.item_id, h.auction_id, i.short_description, h.amount_cents, h.end_ms \
                 FROM high_bid h JOIN item i ON i.id = h.item_id \
                 WHERE h.bidder_id = ?1 AND h.state = ?2 AND h.end_ms >= ?3 AND h.end_ms < ?4 \
                 ORDER BY h.end_ms DESC, h.id DESC LIMIT ?5 OFFSET ?6",
            )?;
            let values = [user.0, sold, span.from, span.to, i64::from(window.size), window.offset()];
            let rows = query.query_map(values, |row| {
                Ok(Purchase {
                    item_id: ItemId(row.get(0)?),
                    auction_id: AuctionId(row.get(1)?),
                    short_description: row.get(2)?,
                    amount_cents: row.get(3)?,
                    sold_ms: row.get(4)?,
                    images: Vec::new(),
                })
            })?;
            let mut items: Vec<Purchase> = rows.collect::<Result<_, _>>()?;
            for purchase in &mut items {
                purchase.images = images(conn, purchase.item_id)?;
            }
            Ok(Page { items, page: window.page, page_size: window.size, total_records })
        })
    }

    /// Adds an item of a user that no auction lists.
    pub(crate) async fn add_item(&self, owner: UserId, new: NewItem) -> Result<Item, StoreError> {
        let change = move |conn: &Connection| {
            let mut insert = conn.prepare_cached(
                "INSERT INTO item (auctioneer_id, condition, manufacturer, short_description, long_description, \
                 origin_ms, starting_bid_cents, state, preloaded) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)",
            )?;
            insert.execute(rusqlite::params![
                owner.0,
                condition_number(new.condition),
                new.manufacturer,
                new.short_description,
                new.long_description,
                new.origin_ms,
                new.starting_bid_cents,
                codes::item::NOT_LISTED
            ])?;
            let id = conn.last_insert_rowid();
            conn.prepare_cached(&format!("SELECT {COLUMNS} FROM item WHERE id = ?1"))?.query_row([id], item)
        };
        self.relational.write(change).await
    }
}
