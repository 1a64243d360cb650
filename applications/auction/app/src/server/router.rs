//! Routes of all resources.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use barograph_auction_api::{ErrorCode, MAX_UPLOAD_BYTES, routes};
use tower_http::catch_panic::CatchPanicLayer;

use super::error::ApiError;
use super::traffic::{Traffic, TrafficLayer};
use super::{auctions, bids, events, items, operations, pictures, ui, users};
use crate::app::App;

/// Longest request body in bytes; the largest sensible one, an item in the longest script, has about 5 KiB.
const BODY_LIMIT: usize = 64 * 1024;

/// The resources, and their paths for counting.
struct Resources {
    router: Router<Arc<App>>,
    paths: Vec<&'static str>,
}

impl Resources {
    fn at(mut self, path: &'static str, resource: MethodRouter<Arc<App>>) -> Self {
        self.router = self.router.route(path, resource);
        self.paths.push(path);
        self
    }
}

/// Resources for users.
fn for_users() -> Resources {
    let uploads = post(pictures::add).layer(DefaultBodyLimit::max(MAX_UPLOAD_BYTES));
    Resources { router: Router::new(), paths: Vec::new() }
        .at(routes::HOME, get(operations::home))
        .at(routes::LOGIN, post(users::login))
        .at(routes::LOGOUT, get(users::logout))
        .at(routes::USERS, post(users::register))
        .at(routes::USER, get(users::profile).put(users::update).delete(users::remove))
        .at(routes::USER_ATTENDANCE, get(auctions::attendance))
        .at(routes::LIVE_AUCTIONS, get(auctions::running).post(auctions::join))
        .at(routes::LIVE_AUCTION, delete(auctions::leave))
        .at(routes::AUCTIONS, get(auctions::search))
        .at(routes::AUCTION, get(auctions::one))
        .at(routes::ITEMS, get(items::search).post(items::add))
        .at(routes::ITEM, get(items::one).put(items::update))
        .at(routes::AUCTION_ITEMS, get(items::of_auction))
        .at(routes::SELLER_ITEMS, get(items::of_seller))
        .at(routes::CURRENT_ITEM, get(items::current))
        .at(routes::PURCHASES, get(items::purchases))
        .at(routes::IMAGES, uploads)
        .at(routes::IMAGE, get(pictures::of_item))
        .at(routes::PUBLIC_IMAGE, get(pictures::for_all))
        .at(routes::BIDS, post(bids::place))
        .at(routes::NEXT_BID, get(bids::next))
        .at(routes::BID_EVENTS, get(events::follow))
        .at(routes::USER_BIDS, get(bids::history))
}

/// Resources for operators and programs.
fn for_operations(resources: Resources) -> Resources {
    resources
        .at(routes::IS_MASTER, get(operations::is_master))
        .at(routes::PREPARE_FOR_SHUTDOWN, get(operations::prepare_for_shutdown))
        .at(routes::RELEASE, get(operations::release))
        .at(routes::CLUSTER, get(operations::cluster))
        .at(routes::HEALTH, get(operations::health))
        .at(routes::ALIVE, get(operations::alive))
        .at(routes::CHECK, get(operations::check))
        .at(routes::OPENAPI, get(operations::openapi))
}

/// The router of all resources, and the counts of its requests.
pub(crate) fn router(app: Arc<App>) -> (Router, Arc<Traffic>) {
    let Resources { router, mut paths } = for_operations(for_users());
    paths.push(routes::METRICS);
    let traffic = Arc::new(Traffic::at(&paths, app.clock));
    let figures = {
        let traffic = Arc::clone(&traffic);
        get(async move |State(app): State<Arc<App>>| operations::metrics(&app, &traffic))
    };
    let resources = router.route(routes::METRICS, figures).merge(ui::router());
    let router = Router::new()
        // A nested "/" answers only without the slash; the start page has both addresses.
        .route(&format!("{}/", routes::BASE), get(operations::home))
        .nest(routes::BASE, resources)
        .fallback(|| async { ApiError::no_such("resource") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(ErrorCode::MethodNotAllowed, "this resource does not know this verb")
        })
        // One layer of three, so that a request is boxed once. The first is the outermost.
        .layer((
            TrafficLayer(Arc::clone(&traffic)),
            CatchPanicLayer::custom(caught),
            DefaultBodyLimit::max(BODY_LIMIT),
        ))
        .with_state(app);
    (router, traffic)
}

/// Turns a panic into a refusal: it must cost one request, not the connection, and the driver must see it.
#[expect(clippy::needless_pass_by_value, reason = "the layer wants a function of the box")]
fn caught(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "a bug".to_owned());
    tracing::error!(text, "a request met a bug");
    ApiError::new(ErrorCode::Internal, text).into_response()
}
