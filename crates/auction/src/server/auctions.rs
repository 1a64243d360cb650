//! Auctions and attendance.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{AuctionId, AuctionState, ErrorCode, JoinRequest, UserId};

use super::error::ApiError;
use super::extract::{Caller, Parted, Sent};
use super::respond;
use crate::app::App;
use crate::bus::Channel;
use crate::store::Window;

type Answer = Result<Response, ApiError>;

/// The channel of a live auction, or why there is none.
pub(crate) fn live(app: &App, id: AuctionId) -> Result<Arc<Channel>, ApiError> {
    if let Some(channel) = app.bus.channel(id) {
        return Ok(channel);
    }
    let auction = app.store.auction(id)?.ok_or_else(|| ApiError::no_such("auction"))?;
    Err(match auction.state {
        AuctionState::Future => ApiError::new(ErrorCode::AuctionNotRunning, "the auction has not begun"),
        AuctionState::Running => {
            ApiError::new(ErrorCode::AuctionNotTracked, "the auction is not tracked here")
        }
        AuctionState::Complete => ApiError::new(ErrorCode::AuctionComplete, "the auction is over"),
    })
}

/// `GET /live/auction`
pub(crate) async fn running(State(app): State<Arc<App>>, _: Caller, window: Window) -> Answer {
    let load = || app.store.running_page(window).map(|page| Some(respond::text(&page)));
    let page = app.live_pages.get_or_load(&window, load)?;
    Ok(respond::ready_json(page.unwrap_or_default()))
}

/// `POST /live/auction`
pub(crate) async fn join(
    State(app): State<Arc<App>>,
    caller: Caller,
    Sent(sent): Sent<JoinRequest>,
) -> Answer {
    caller.must_be(sent.user_id)?;
    let channel = live(&app, sent.auction_id)?;
    let auction = (sent.auction_id, channel.auction.name.clone());
    let record = app.store.join(caller.id, auction, app.clock.now()).await?;
    Ok(respond::json(StatusCode::CREATED, &record))
}

/// `DELETE /live/auction/{auctionId}`
pub(crate) async fn leave(State(app): State<Arc<App>>, caller: Caller, Parted(id): Parted<i64>) -> Answer {
    if app.store.leave(caller.id, Some(AuctionId(id))).await? == 0 {
        return Err(ApiError::new(ErrorCode::NotAttending, "the caller does not attend this auction"));
    }
    Ok(respond::nothing())
}

/// `GET /auction`
pub(crate) async fn all(State(app): State<Arc<App>>, _: Caller, window: Window) -> Answer {
    Ok(respond::json(StatusCode::OK, &app.store.auction_page(window)?))
}

/// `GET /auction/{id}`
pub(crate) async fn one(State(app): State<Arc<App>>, _: Caller, Parted(id): Parted<i64>) -> Answer {
    let id = AuctionId(id);
    let load = || app.store.auction(id).map(|found| found.map(|auction| respond::text(&auction)));
    let body = app.auctions.get_or_load(&id, load)?.ok_or_else(|| ApiError::no_such("auction"))?;
    Ok(respond::ready_json(body))
}

/// `GET /attendance/user/{userId}`
pub(crate) async fn attendance(
    State(app): State<Arc<App>>,
    caller: Caller,
    Parted(id): Parted<i64>,
    window: Window,
) -> Answer {
    caller.must_be(UserId(id))?;
    Ok(respond::json(StatusCode::OK, &app.store.user_attendance(UserId(id), window)?))
}
