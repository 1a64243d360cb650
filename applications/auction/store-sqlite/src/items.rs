//! Items: lists, the search, changes by their owner, purchases.

use barograph_auction_api::{AuctionId, Cents, Item, ItemId, Page, Purchase, UserId};
use barograph_auction_store::{ItemFilter, ItemRow, ItemUpdateOutcome, PageWindow, Span, codes};
use rusqlite::{Connection, OptionalExtension, Result, Row, ToSql, params};

use crate::values::{self, PageQueries, condition, item_number, item_state};

macro_rules! columns {
    () => {
        "id, auction_id, auctioneer_id, state, condition, manufacturer, item.short_description, long_description, \
         origin_ms, starting_bid_cents"
    };
}

macro_rules! select_item {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM item ", $rest)
    };
}

fn item(row: &Row<'_>) -> Result<Item> {
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

pub(crate) fn by_id(conn: &Connection, id: ItemId) -> Result<Option<Item>> {
    conn.prepare_cached(select_item!("WHERE id = ?1"))?.query_row([id.0], item).optional()
}

pub(crate) fn of_auction(conn: &Connection, id: AuctionId, window: PageWindow) -> Result<Page<Item>> {
    let queries = PageQueries {
        count: "SELECT COUNT(*) FROM item WHERE auction_id = ?1",
        page: select_item!("WHERE auction_id = ?1 ORDER BY id LIMIT ?2 OFFSET ?3"),
    };
    values::page(conn, &queries, (&[&id.0], window), item)
}

pub(crate) fn of_seller(conn: &Connection, id: UserId, window: PageWindow) -> Result<Page<Item>> {
    let queries = PageQueries {
        count: "SELECT COUNT(*) FROM item WHERE auctioneer_id = ?1",
        page: select_item!("WHERE auctioneer_id = ?1 ORDER BY id DESC LIMIT ?2 OFFSET ?3"),
    };
    values::page(conn, &queries, (&[&id.0], window), item)
}

/// The words of a text as a query of the search index, the last one the beginning of a word; `None` without
/// words. Words are quoted, so that nothing in them has a meaning for the index.
fn search(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" ") + "*")
}

/// A comparison of a column with a number.
fn compare(
    parts: &mut Vec<&str>,
    values: &mut Vec<Box<dyn ToSql>>,
    part: &'static str,
    value: Option<Cents>,
) {
    if let Some(value) = value {
        parts.push(part);
        values.push(Box::new(value));
    }
}

pub(crate) fn list(conn: &Connection, filter: &ItemFilter, window: PageWindow) -> Result<Page<Item>> {
    let mut parts = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    compare(&mut parts, &mut values, "state = ?", filter.state.map(item_number));
    compare(&mut parts, &mut values, "condition = ?", filter.condition);
    compare(&mut parts, &mut values, "starting_bid_cents >= ?", filter.from_cents);
    compare(&mut parts, &mut values, "starting_bid_cents <= ?", filter.to_cents);
    // The search index returns its rows by id, so that a page ends the search; words alone are counted
    // without the items.
    let (mut counted, mut listed, mut order) = ("item", "item", "id");
    if let Some(words) = filter.text.as_deref().and_then(search) {
        listed = "item_text CROSS JOIN item ON id = item_text.rowid";
        counted = if parts.is_empty() { "item_text" } else { listed };
        order = "item_text.rowid";
        parts.insert(0, "item_text MATCH ?");
        values.insert(0, Box::new(words));
    }
    let condition = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
    let values: Vec<&dyn ToSql> = values.iter().map(|v| &**v).collect();
    let queries = PageQueries {
        count: &format!("SELECT COUNT(*) FROM {counted} {condition}"),
        page: &format!("SELECT {} FROM {listed} {condition} ORDER BY {order} LIMIT ? OFFSET ?", columns!()),
    };
    values::page(conn, &queries, (&values, window), item)
}

pub(crate) fn purchases(
    conn: &Connection,
    user: UserId,
    span: Span,
    window: PageWindow,
) -> Result<Page<Purchase>> {
    // The state as a number, so that the partial index is used.
    let queries = PageQueries {
        count: "SELECT COUNT(*) FROM high_bid \
                WHERE bidder_id = ?1 AND state = 2 AND end_ms >= ?2 AND end_ms < ?3",
        page: "SELECT h.item_id, h.auction_id, i.short_description, h.amount_cents, h.end_ms \
               FROM high_bid h JOIN item i ON i.id = h.item_id \
               WHERE h.bidder_id = ?1 AND h.state = 2 AND h.end_ms >= ?2 AND h.end_ms < ?3 \
               ORDER BY h.end_ms DESC, h.id DESC LIMIT ?4 OFFSET ?5",
    };
    values::page(conn, &queries, (&[&user.0, &span.from, &span.to], window), |row| {
        Ok(Purchase {
            item_id: ItemId(row.get(0)?),
            auction_id: AuctionId(row.get(1)?),
            short_description: row.get(2)?,
            amount_cents: row.get(3)?,
            sold_ms: row.get(4)?,
            images: Vec::new(),
        })
    })
}

pub(crate) fn add(conn: &Connection, row: &ItemRow) -> Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO item (id, auction_id, auctioneer_id, condition, manufacturer, short_description, \
         long_description, origin_ms, starting_bid_cents, state, preloaded) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0)",
    )?;
    insert.execute(params![
        row.id,
        row.auction_id,
        row.auctioneer_id,
        row.condition,
        row.manufacturer,
        row.short_description,
        row.long_description,
        row.origin_ms,
        row.starting_bid_cents,
        row.state
    ])?;
    conn.prepare_cached("INSERT INTO item_text (rowid, short_description) VALUES (?1, ?2)")?
        .execute(params![row.id, row.short_description])?;
    Ok(())
}

pub(crate) fn update(conn: &Connection, row: &ItemRow) -> Result<ItemUpdateOutcome> {
    let mut query = conn.prepare_cached(
        "SELECT auctioneer_id, auction_id, state, short_description FROM item WHERE id = ?1",
    )?;
    let found = query
        .query_row([row.id], |row| {
            let listed =
                row.get::<_, Option<i64>>(1)?.is_some() || row.get::<_, i64>(2)? != codes::item::NOT_LISTED;
            Ok((row.get::<_, i64>(0)?, listed, row.get::<_, String>(3)?))
        })
        .optional()?;
    let Some((owner, listed, text_before)) = found else { return Ok(ItemUpdateOutcome::NoSuchItem) };
    if owner != row.auctioneer_id {
        return Ok(ItemUpdateOutcome::NotOwner);
    }
    if listed {
        return Ok(ItemUpdateOutcome::Listed);
    }
    // The search index holds no texts, so it needs the old text to remove it.
    conn.prepare_cached(
        "INSERT INTO item_text (item_text, rowid, short_description) VALUES ('delete', ?1, ?2)",
    )?
    .execute(params![row.id, text_before])?;
    conn.prepare_cached(
        "UPDATE item SET condition = ?2, manufacturer = ?3, short_description = ?4, long_description = ?5, \
         origin_ms = ?6, starting_bid_cents = ?7, version = version + 1 WHERE id = ?1",
    )?
    .execute(params![
        row.id,
        row.condition,
        row.manufacturer,
        row.short_description,
        row.long_description,
        row.origin_ms,
        row.starting_bid_cents
    ])?;
    conn.prepare_cached("INSERT INTO item_text (rowid, short_description) VALUES (?1, ?2)")?
        .execute(params![row.id, row.short_description])?;
    let done = by_id(conn, ItemId(row.id))?;
    Ok(done.map_or(ItemUpdateOutcome::NoSuchItem, |item| ItemUpdateOutcome::Done(Box::new(item))))
}
