//! Which handler answers which request.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use barograph_auction_api::{ErrorCode, routes};
use tower_http::catch_panic::CatchPanicLayer;

use super::error::ApiError;
use super::{auctions, bids, items, operations, users};
use crate::app::App;

/// Bytes a request body may have; the largest sensible one, a new item, has about 1.5 KiB.
const BODY_LIMIT: usize = 64 * 1024;

/// All resources, ready to serve.
pub(crate) fn router(app: Arc<App>) -> Router {
    let resources = Router::new()
        .route(routes::HOME, get(operations::home))
        .route(routes::LOGIN, post(users::login))
        .route(routes::LOGOUT, get(users::logout))
        .route(routes::USERS, post(users::register))
        .route(routes::USER, get(users::profile).put(users::update))
        .route(routes::LIVE_AUCTIONS, get(auctions::running).post(auctions::join))
        .route(routes::LIVE_AUCTION, delete(auctions::leave))
        .route(routes::AUCTIONS, get(auctions::all))
        .route(routes::AUCTION, get(auctions::one))
        .route(routes::ITEMS, post(items::add))
        .route(routes::ITEM, get(items::one))
        .route(routes::AUCTION_ITEMS, get(items::of_auction))
        .route(routes::CURRENT_ITEM, get(items::current))
        .route(routes::PURCHASES, get(items::purchases))
        .route(routes::IMAGE, get(items::image))
        .route(routes::BIDS, post(bids::place))
        .route(routes::NEXT_BID, get(bids::next))
        .route(routes::USER_BIDS, get(bids::history))
        .route(routes::USER_ATTENDANCE, get(auctions::attendance))
        .route(routes::HEALTH, get(operations::health))
        .route(routes::CHECK, get(operations::check))
        .route(routes::OPENAPI, get(operations::openapi));
    Router::new()
        // A nested "/" answers without the slash only; the start page has both addresses.
        .route(&format!("{}/", routes::BASE), get(operations::home))
        .nest(routes::BASE, resources)
        .fallback(|| async { ApiError::no_such("resource") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(ErrorCode::MethodNotAllowed, "this resource does not know this verb")
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(CatchPanicLayer::custom(caught))
        .with_state(app)
}

/// A bug must cost one request, not the connection, and must be seen by the driver.
#[expect(clippy::needless_pass_by_value, reason = "the layer wants a function of the box")]
fn caught(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ApiError::new(ErrorCode::Internal, text.unwrap_or_else(|| "a bug".to_owned())).into_response()
}
