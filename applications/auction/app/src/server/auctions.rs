//! Auctions and attendance.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{
    AuctionId, AuctionQuery, AuctionState, ErrorCode, JoinRequest, MAX_CATEGORY, MAX_SEARCH, UserId,
};
use barograph_auction_store::{AttendanceRow, AuctionFilter, codes};

use super::error::ApiError;
use super::extract::{Caller, JsonBody, PageParameters, PathParts, QueryString, check_search, window};
use super::respond;
use crate::app::App;
use crate::channels::Channel;

type Answer = Result<Response, ApiError>;

/// The channel of a live auction, or the refusal.
pub(crate) async fn live(app: &App, id: AuctionId) -> Result<Arc<Channel>, ApiError> {
    if let Some(channel) = app.channels.channel(id) {
        return Ok(channel);
    }
    let auction = app.relational.auction(id).await?.ok_or_else(|| ApiError::no_such("auction"))?;
    Err(match auction.state {
        AuctionState::Future => ApiError::new(ErrorCode::AuctionNotRunning, "the auction has not begun"),
        AuctionState::Running => {
            ApiError::new(ErrorCode::AuctionNotTracked, "the auction is not tracked here")
        }
        AuctionState::Complete => ApiError::new(ErrorCode::AuctionComplete, "the auction is over"),
    })
}

/// `GET /live/auction`
pub(crate) async fn running(
    State(app): State<Arc<App>>,
    _: Caller,
    PageParameters(window): PageParameters,
) -> Answer {
    let load = async || {
        let running = AuctionFilter { state: Some(AuctionState::Running), ..AuctionFilter::default() };
        app.relational.auctions(&running, window).await.map(|page| Some(respond::text(&page)))
    };
    let page = app.live_pages.get_or_load(&window, load).await?;
    Ok(respond::ready_json(page.unwrap_or_default()))
}

/// `POST /live/auction`
pub(crate) async fn join(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(sent): JsonBody<JoinRequest>,
) -> Answer {
    caller.must_be(sent.user_id)?;
    let channel = live(&app, sent.auction_id).await?;
    let attendance = AttendanceRow {
        id: app.ids.next(),
        user_id: caller.id.0,
        record_ms: app.clock.now(),
        auction_id: sent.auction_id.0,
        auction_name: channel.auction.name.clone().into(),
        state: codes::attendance::ATTENDING,
    };
    let record = app.events.join(attendance).await?;
    Ok(respond::json(StatusCode::CREATED, &record))
}

/// `DELETE /live/auction/{auctionId}`
pub(crate) async fn leave(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
) -> Answer {
    if app.events.leave(caller.id, Some(AuctionId(id))).await? == 0 {
        return Err(ApiError::new(ErrorCode::NotAttending, "the caller does not attend this auction"));
    }
    Ok(respond::nothing())
}

/// `GET /auction`
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    _: Caller,
    QueryString(query): QueryString<AuctionQuery>,
) -> Answer {
    let window = window(query.page, query.page_size)?;
    check_search("text", query.text.as_deref().unwrap_or(""), MAX_SEARCH)?;
    check_search("category", query.category.as_deref().unwrap_or(""), MAX_CATEGORY)?;
    // An empty text is in every name, and forms send one for an empty field.
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let filter =
        AuctionFilter { state: query.state, category: given(query.category), text: given(query.text) };
    Ok(respond::json(StatusCode::OK, &app.relational.auctions(&filter, window).await?))
}

/// `GET /auction/{id}`
pub(crate) async fn one(State(app): State<Arc<App>>, _: Caller, PathParts(id): PathParts<i64>) -> Answer {
    let id = AuctionId(id);
    let load =
        async || app.relational.auction(id).await.map(|found| found.map(|auction| respond::text(&auction)));
    let body = app.auctions.get_or_load(&id, load).await?.ok_or_else(|| ApiError::no_such("auction"))?;
    Ok(respond::ready_json(body))
}

/// `GET /attendance/user/{userId}`
pub(crate) async fn attendance(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    PageParameters(window): PageParameters,
) -> Answer {
    caller.must_be(UserId(id))?;
    Ok(respond::json(StatusCode::OK, &app.events.user_attendance(UserId(id), window).await?))
}
