//! Items and purchases.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{
    AuctionId, Condition, ErrorCode, Item, ItemId, ItemQuery, ItemState, ItemUpdate, MAX_LONG,
    MAX_MANUFACTURER, MAX_SEARCH, MAX_SHORT, Millis, NewItem, Page, PurchaseQuery, UserId,
};
use barograph_auction_store::{ItemFilter, ItemRow, ItemUpdateOutcome, Span, codes};

use super::auctions::live;
use super::bids::watch;
use super::error::ApiError;
use super::extract::{
    Caller, JsonBody, PageParameters, PathParts, QueryString, check_cents, check_id, check_millis,
    check_search, check_text, window,
};
use super::respond;
use crate::app::{App, ItemEntry};
use crate::channels::{CURRENT_ITEM_LIMIT, WaitResult};

type Answer = Result<Response, ApiError>;

/// The position of a condition, which is the number in the stores.
fn position(condition: Condition) -> i64 {
    let at = Condition::ALL.iter().position(|one| *one == condition);
    i64::try_from(at.unwrap_or(0)).unwrap_or(0)
}

/// An item with its images, as served.
pub(crate) async fn entry(app: &App, id: ItemId) -> Result<ItemEntry, ApiError> {
    let load = async || {
        let Some(item) = app.relational.item(id).await? else { return Ok(None) };
        let mut items = [item];
        app.with_images(&mut items).await?;
        let images = items[0].images.iter().map(|i| i.id).collect();
        Ok::<_, ApiError>(Some(ItemEntry { body: respond::text(&items[0]), images }))
    };
    app.items.get_or_load(&id, load).await?.ok_or_else(|| ApiError::no_such("item"))
}

/// An item of the caller; refuses those of others.
pub(crate) async fn own(app: &App, id: ItemId, caller: Caller) -> Result<Item, ApiError> {
    let item = app.relational.item(id).await?.ok_or_else(|| ApiError::no_such("item"))?;
    caller.must_be(item.auctioneer_id)?;
    Ok(item)
}

fn checked(item: &NewItem) -> Result<(), ApiError> {
    check_text("manufacturer", &item.manufacturer, MAX_MANUFACTURER)?;
    check_text("shortDescription", &item.short_description, MAX_SHORT)?;
    check_text("longDescription", &item.long_description, MAX_LONG)?;
    check_millis("originMs", item.origin_ms)?;
    check_cents("startingBidCents", item.starting_bid_cents)
}

fn row(id: ItemId, seller: UserId, item: NewItem) -> ItemRow {
    ItemRow {
        id: id.0,
        auction_id: None,
        auctioneer_id: seller.0,
        condition: position(item.condition),
        manufacturer: item.manufacturer.into(),
        short_description: item.short_description,
        long_description: item.long_description,
        origin_ms: item.origin_ms,
        starting_bid_cents: item.starting_bid_cents,
        state: codes::item::NOT_LISTED,
    }
}

/// `POST /item`
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(new): JsonBody<NewItem>,
) -> Answer {
    checked(&new)?;
    let id = ItemId(app.ids.next());
    app.relational.add_item(row(id, caller.id, new.clone())).await?;
    let item = Item {
        id,
        auction_id: None,
        auctioneer_id: caller.id,
        state: ItemState::NotListed,
        condition: new.condition,
        manufacturer: new.manufacturer,
        short_description: new.short_description,
        long_description: new.long_description,
        origin_ms: new.origin_ms,
        starting_bid_cents: new.starting_bid_cents,
        images: Vec::new(),
    };
    Ok(respond::json(StatusCode::CREATED, &item))
}

/// `PUT /item/{id}`
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    JsonBody(sent): JsonBody<ItemUpdate>,
) -> Answer {
    let id = ItemId(id);
    let before = own(&app, id, caller).await?;
    let after = NewItem {
        condition: sent.condition.unwrap_or(before.condition),
        manufacturer: sent.manufacturer.unwrap_or(before.manufacturer),
        short_description: sent.short_description.unwrap_or(before.short_description),
        long_description: sent.long_description.unwrap_or(before.long_description),
        origin_ms: sent.origin_ms.unwrap_or(before.origin_ms),
        starting_bid_cents: sent.starting_bid_cents.unwrap_or(before.starting_bid_cents),
    };
    checked(&after)?;
    let item = match app.relational.update_item(row(id, caller.id, after)).await? {
        ItemUpdateOutcome::Done(item) => *item,
        ItemUpdateOutcome::NoSuchItem => return Err(ApiError::no_such("item")),
        ItemUpdateOutcome::NotOwner => {
            return Err(ApiError::new(ErrorCode::Forbidden, "this belongs to another user"));
        }
        ItemUpdateOutcome::Listed => {
            return Err(ApiError::new(ErrorCode::ItemListed, "an auction lists this item"));
        }
    };
    app.item_changed(id, item.auction_id);
    let mut items = [item];
    app.with_images(&mut items).await?;
    Ok(respond::json(StatusCode::OK, &items[0]))
}

/// `GET /item/{id}`
pub(crate) async fn one(State(app): State<Arc<App>>, _: Caller, PathParts(id): PathParts<i64>) -> Answer {
    Ok(respond::ready_json(entry(&app, ItemId(id)).await?.body))
}

/// Adds the items' images to a page.
async fn with_images(app: &App, mut page: Page<Item>) -> Answer {
    app.with_images(&mut page.items).await?;
    Ok(respond::json(StatusCode::OK, &page))
}

/// `GET /item`
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    _: Caller,
    QueryString(query): QueryString<ItemQuery>,
) -> Answer {
    let window = window(query.page, query.page_size)?;
    check_search("text", query.text.as_deref().unwrap_or(""), MAX_SEARCH)?;
    for (name, cents) in [("fromCents", query.from_cents), ("toCents", query.to_cents)] {
        check_cents(name, cents.unwrap_or(0))?;
    }
    let filter = ItemFilter {
        text: query.text.filter(|text| !text.is_empty()),
        state: query.state,
        condition: query.condition.map(position),
        from_cents: query.from_cents,
        to_cents: query.to_cents,
    };
    with_images(&app, app.relational.items(&filter, window).await?).await
}

/// `GET /item/auctioneer/{id}`
pub(crate) async fn of_seller(
    State(app): State<Arc<App>>,
    _: Caller,
    PathParts(id): PathParts<i64>,
    PageParameters(window): PageParameters,
) -> Answer {
    check_id("user", id)?;
    with_images(&app, app.relational.seller_items(UserId(id), window).await?).await
}

/// `GET /item/auction/{auctionId}`
pub(crate) async fn of_auction(
    State(app): State<Arc<App>>,
    _: Caller,
    PathParts(id): PathParts<i64>,
    PageParameters(window): PageParameters,
) -> Answer {
    let id = AuctionId(id);
    // The version is read before the store, so a page read too early is never found under the later version.
    // Items of auctions that are not live do not change state: their version is 0.
    let version = match live(&app, id).await {
        Ok(channel) => channel.version(),
        Err(error) if error.status() == StatusCode::NOT_FOUND => return Err(error),
        Err(_) => 0,
    };
    let load = async || {
        let mut page = app.relational.auction_items(id, window).await?;
        app.with_images(&mut page.items).await?;
        Ok::<_, ApiError>(Some(respond::text(&page)))
    };
    let page = app.item_pages.get_or_load(&(id, version, window), load).await?;
    Ok(respond::ready_json(page.unwrap_or_default()))
}

/// `GET /item/current/auction/{auctionId}`
pub(crate) async fn current(State(app): State<Arc<App>>, _: Caller, PathParts(id): PathParts<i64>) -> Answer {
    let channel = watch(&app, AuctionId(id)).await?;
    match channel.current_item(app.clock.after(CURRENT_ITEM_LIMIT)).await {
        WaitResult::Got(item) => Ok(respond::ready_json(entry(&app, item).await?.body)),
        WaitResult::Nothing => Err(ApiError::new(ErrorCode::NotFound, "no item is on sale")),
        WaitResult::Stopping => Err(ApiError::stopping()),
    }
}

/// `GET /item/user/{userId}/purchased`
pub(crate) async fn purchases(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    QueryString(query): QueryString<PurchaseQuery>,
) -> Answer {
    caller.must_be(UserId(id))?;
    let window = window(query.page, query.page_size)?;
    for (name, at) in [("fromDate", query.from_date), ("toDate", query.to_date)] {
        check_millis(name, at.unwrap_or(0))?;
    }
    let span =
        Span { from: query.from_date.unwrap_or(Millis::MIN), to: query.to_date.unwrap_or(Millis::MAX) };
    let mut page = app.relational.purchases(UserId(id), span, window).await?;
    let ids: Vec<ItemId> = page.items.iter().map(|p| p.item_id).collect();
    for (purchase, images) in page.items.iter_mut().zip(app.images_of(&ids).await?) {
        purchase.images = images;
    }
    Ok(respond::json(StatusCode::OK, &page))
}
