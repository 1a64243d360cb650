//! Bids: placing them, waiting for the next, looking back.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{AuctionId, BidAccepted, BidRequest, ErrorCode, ItemId, UserId};
use tokio::sync::mpsc::error::TrySendError;

use super::auctions::live;
use super::error::ApiError;
use super::extract::{Caller, Parted, Sent};
use super::respond;
use crate::app::App;
use crate::auctioneer::Command;
use crate::bus::{Channel, News, POLL_LIMIT};
use crate::live::Offer;
use crate::store::Window;

type Answer = Result<Response, ApiError>;

fn tell(app: &App, command: Command) -> Result<(), ApiError> {
    app.desk.try_send(command).map_err(|e| match e {
        TrySendError::Full(_) => ApiError::new(ErrorCode::Busy, "too many bids wait to be decided"),
        TrySendError::Closed(_) => ApiError::new(ErrorCode::Stopping, "the application is about to stop"),
    })
}

/// The channel of an auction that somebody watches; an auction that is not live is not tracked.
pub(crate) fn watch(app: &App, id: AuctionId) -> Result<Arc<Channel>, ApiError> {
    let channel = match live(app, id) {
        Err(error) if error.status() == StatusCode::CONFLICT => {
            return Err(ApiError::new(ErrorCode::AuctionNotTracked, "the auction has not begun"));
        }
        other => other?,
    };
    Ok(channel)
}

/// `POST /bid`
pub(crate) async fn place(
    State(app): State<Arc<App>>,
    caller: Caller,
    Sent(sent): Sent<BidRequest>,
) -> Answer {
    caller.must_be(sent.user_id)?;
    live(&app, sent.auction_id)?;
    if let Some(trouble) = app.trouble.get() {
        return Err(ApiError::new(ErrorCode::StoreFailed, trouble));
    }
    let account = app.store.user(caller.id)?.ok_or_else(|| ApiError::no_such("user"))?;
    let offer = Offer { item: sent.item_id, bidder: caller.id, amount: sent.amount_cents };
    let credit = account.user.credit_cents;
    tell(&app, Command::Bid { auction: sent.auction_id, offer, credit })?;
    let answer =
        BidAccepted { auction_id: sent.auction_id, item_id: sent.item_id, amount_cents: sent.amount_cents };
    Ok(respond::json(StatusCode::ACCEPTED, &answer))
}

/// `GET /bid/auction/{auctionId}/item/{itemId}/count/{count}`
pub(crate) async fn next(
    State(app): State<Arc<App>>,
    _: Caller,
    Parted((auction, item, count)): Parted<(i64, i64, u32)>,
) -> Answer {
    let channel = watch(&app, AuctionId(auction))?;
    // Asking for the state there is (0) is not watching yet.
    if count > 0 && channel.first_watched() {
        tell(&app, Command::Wake(AuctionId(auction))).inspect_err(|_| channel.forget_watcher())?;
    }
    match channel.next_bid(ItemId(item), count, app.clock.after(POLL_LIMIT)).await {
        News::Got(body) => Ok(respond::ready_json(body)),
        News::Nothing => Err(ApiError::new(ErrorCode::NoNews, "no news of this item")),
        News::Stopping => Err(ApiError::new(ErrorCode::Stopping, "the application is about to stop")),
    }
}

/// `GET /bid/user/{userId}`
pub(crate) async fn history(
    State(app): State<Arc<App>>,
    caller: Caller,
    Parted(id): Parted<i64>,
    window: Window,
) -> Answer {
    caller.must_be(UserId(id))?;
    Ok(respond::json(StatusCode::OK, &app.store.user_bids(UserId(id), window)?))
}
