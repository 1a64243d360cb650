//! The start page, and what operations people ask.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{ErrorCode, Health, openapi_json};
use bytes::Bytes;

use super::error::ApiError;
use super::respond;
use crate::app::App;
use crate::check::View;
use crate::publisher::with_cause;
use crate::store::{DURABILITY, StoreError};

const HOME: &str = include_str!("home.html");

/// The document never changes while the program runs.
static OPENAPI: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi_json()));

type Answer = Result<Response, ApiError>;

/// `GET /`
pub(crate) async fn home() -> Response {
    respond::body(StatusCode::OK, "text/html; charset=utf-8", Bytes::from_static(HOME.as_bytes()))
}

/// `GET /openapi.json`
pub(crate) async fn openapi() -> Response {
    respond::ready_json(OPENAPI.clone())
}

/// `GET /healthCheck`
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    let trouble = app.trouble.get();
    let ready = trouble.is_none();
    let health = Health {
        ready,
        trouble,
        running_auctions: app.bus.len() as u64,
        now_ms: app.clock.now(),
        durability: DURABILITY.to_owned(),
    };
    respond::json(if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &health)
}

/// `GET /check`
pub(crate) async fn check(State(app): State<Arc<App>>) -> Answer {
    let files = App::files(&app.state_dir);
    let gate = app.commit_gate.lock().await;
    let updates = app.bus.counts();
    let initial = app.initial;
    let view = background(move || View::take(&files)).await?;
    drop(gate);
    let report = background(move || view.check(initial, updates)).await?;
    Ok(respond::json(StatusCode::OK, &report))
}

/// Runs what takes long where it holds nobody up.
async fn background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|e| ApiError::new(ErrorCode::Internal, with_cause(&e)))??)
}
