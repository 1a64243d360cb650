//! Items, images and purchases.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{
    AuctionId, ErrorCode, ImageId, ImageQuery, ItemId, Millis, NewItem, PurchaseQuery, UserId,
};

use super::auctions::live;
use super::bids::watch;
use super::error::ApiError;
use super::extract::{Asked, Caller, Parted, Sent, check_text, window};
use super::respond;
use crate::app::{App, ItemEntry};
use crate::bus::{CURRENT_ITEM_LIMIT, News};
use crate::store::{Span, Window};

/// Bytes of a manufacturer, a short and a long description, at most.
const TEXTS: [usize; 3] = [100, 127, 1024];

type Answer = Result<Response, ApiError>;

fn entry(app: &App, id: ItemId) -> Result<ItemEntry, ApiError> {
    let load = || {
        app.store.item(id).map(|found| {
            found.map(|item| ItemEntry {
                body: respond::text(&item),
                images: item.images.iter().map(|i| i.id).collect(),
            })
        })
    };
    app.items.get_or_load(&id, load)?.ok_or_else(|| ApiError::no_such("item"))
}

/// `POST /item`
pub(crate) async fn add(State(app): State<Arc<App>>, caller: Caller, Sent(new): Sent<NewItem>) -> Answer {
    check_text("manufacturer", &new.manufacturer, TEXTS[0])?;
    check_text("shortDescription", &new.short_description, TEXTS[1])?;
    check_text("longDescription", &new.long_description, TEXTS[2])?;
    if new.starting_bid_cents < 0 {
        return Err(ApiError::new(ErrorCode::BadRequest, "startingBidCents is negative"));
    }
    let item = app.store.add_item(caller.id, new).await?;
    Ok(respond::json(StatusCode::CREATED, &item))
}

/// `GET /item/{id}`
pub(crate) async fn one(State(app): State<Arc<App>>, _: Caller, Parted(id): Parted<i64>) -> Answer {
    Ok(respond::ready_json(entry(&app, ItemId(id))?.body))
}

/// `GET /item/auction/{auctionId}`
pub(crate) async fn of_auction(
    State(app): State<Arc<App>>,
    _: Caller,
    Parted(id): Parted<i64>,
    window: Window,
) -> Answer {
    let id = AuctionId(id);
    // The version is read before the store is, so a page read too early is never found under the later version.
    // Items of auctions that are not live do not change their state: their version is 0.
    let version = match live(&app, id) {
        Ok(channel) => channel.version(),
        Err(error) if error.status() == StatusCode::NOT_FOUND => return Err(error),
        Err(_) => 0,
    };
    let load = || app.store.auction_items(id, window).map(|page| Some(respond::text(&page)));
    let page = app.item_pages.get_or_load(&(id, version, window), load)?;
    Ok(respond::ready_json(page.unwrap_or_default()))
}

/// `GET /item/current/auction/{auctionId}`
pub(crate) async fn current(State(app): State<Arc<App>>, _: Caller, Parted(id): Parted<i64>) -> Answer {
    let channel = watch(&app, AuctionId(id))?;
    match channel.current_item(app.clock.after(CURRENT_ITEM_LIMIT)).await {
        News::Got(item) => Ok(respond::ready_json(entry(&app, item)?.body)),
        News::Nothing => Err(ApiError::new(ErrorCode::NotFound, "no item is on sale")),
        News::Stopping => Err(ApiError::new(ErrorCode::Stopping, "the application is about to stop")),
    }
}

/// `GET /item/user/{userId}/purchased`
pub(crate) async fn purchases(
    State(app): State<Arc<App>>,
    caller: Caller,
    Parted(id): Parted<i64>,
    Asked(query): Asked<PurchaseQuery>,
) -> Answer {
    caller.must_be(UserId(id))?;
    let window = window(query.page, query.page_size)?;
    let span =
        Span { from: query.from_date.unwrap_or(Millis::MIN), to: query.to_date.unwrap_or(Millis::MAX) };
    Ok(respond::json(StatusCode::OK, &app.store.purchases(UserId(id), span, window)?))
}

/// `GET /item/{id}/image/{imageId}`
pub(crate) async fn image(
    State(app): State<Arc<App>>,
    _: Caller,
    Parted((id, image)): Parted<(i64, i64)>,
    Asked(query): Asked<ImageQuery>,
) -> Answer {
    let image = ImageId(image);
    if !entry(&app, ItemId(id))?.images.contains(&image) {
        return Err(ApiError::no_such("image of this item"));
    }
    let picture = app.images.get(image, query.size).await?;
    let picture = picture.ok_or_else(|| ApiError::no_such("size of this image"))?;
    Ok(respond::body(StatusCode::OK, "image/jpeg", picture))
}
