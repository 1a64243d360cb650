//! Bids: placing them, waiting for the next, looking back.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{AuctionId, BidAccepted, BidRequest, ErrorCode, ItemId, MAX_CENTS, UserId};

use super::auctions::live;
use super::error::ApiError;
use super::extract::{Caller, JsonBody, PageParameters, PathParts, check_id};
use super::respond;
use crate::app::App;
use crate::channels::{Channel, POLL_LIMIT, WaitResult};
use crate::messages::Bid;

type Answer = Result<Response, ApiError>;

/// The channel of a followed auction; an auction that is not live is not tracked.
pub(crate) async fn watch(app: &App, id: AuctionId) -> Result<Arc<Channel>, ApiError> {
    match live(app, id).await {
        Err(error) if error.status() == StatusCode::CONFLICT => {
            Err(ApiError::new(ErrorCode::AuctionNotTracked, "the auction has not begun"))
        }
        other => other,
    }
}

/// Marks an auction as followed; the first follower starts the auction's timers.
pub(crate) fn wake(app: &App, id: AuctionId, channel: &Channel) -> Result<(), ApiError> {
    if channel.first_watched() {
        app.wake(id).inspect_err(|_| channel.forget_watcher())?;
    }
    Ok(())
}

/// `POST /bid`
pub(crate) async fn place(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(sent): JsonBody<BidRequest>,
) -> Answer {
    caller.must_be(sent.user_id)?;
    if !(1..=MAX_CENTS).contains(&sent.amount_cents) {
        return Err(ApiError::bad(format!("amountCents must be from 1 to {MAX_CENTS}")));
    }
    live(&app, sent.auction_id).await?;
    if let Some(trouble) = app.broken.get() {
        return Err(ApiError::new(ErrorCode::StoreFailed, trouble));
    }
    let account = app.relational.user(caller.id).await?.ok_or_else(|| ApiError::no_such("user"))?;
    app.place(Bid {
        auction: sent.auction_id,
        item: sent.item_id,
        bidder: caller.id,
        amount: sent.amount_cents,
        credit: account.user.credit_cents,
        sent_on: false,
    })?;
    let answer =
        BidAccepted { auction_id: sent.auction_id, item_id: sent.item_id, amount_cents: sent.amount_cents };
    Ok(respond::json(StatusCode::ACCEPTED, &answer))
}

/// `GET /bid/auction/{auctionId}/item/{itemId}/count/{count}`
pub(crate) async fn next(
    State(app): State<Arc<App>>,
    _: Caller,
    PathParts((auction, item, count)): PathParts<(i64, i64, u32)>,
) -> Answer {
    check_id("item", item)?;
    let channel = watch(&app, AuctionId(auction)).await?;
    // A request for the present state (0) does not make a follower.
    if count > 0 {
        wake(&app, AuctionId(auction), &channel)?;
    }
    let _following = app.channels.follow();
    match channel.next_bid(ItemId(item), count, app.clock.after(POLL_LIMIT)).await {
        WaitResult::Got(body) => Ok(respond::ready_json(body)),
        WaitResult::Nothing => Err(ApiError::new(ErrorCode::NoNews, "no news of this item")),
        WaitResult::Stopping => Err(ApiError::stopping()),
    }
}

/// `GET /bid/user/{userId}`
pub(crate) async fn history(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    PageParameters(window): PageParameters,
) -> Answer {
    caller.must_be(UserId(id))?;
    Ok(respond::json(StatusCode::OK, &app.events.user_bids(UserId(id), window).await?))
}
