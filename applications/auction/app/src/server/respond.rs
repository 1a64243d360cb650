//! Construction of responses.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;

/// Serialises a value as JSON.
pub(crate) fn text<T: Serialize>(value: &T) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("wire types have string keys and no failing parts"))
}

/// A response with a value as JSON.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    body(status, "application/json", text(value))
}

/// A 200 with a prepared JSON text.
pub(crate) fn ready_json(text: Bytes) -> Response {
    body(StatusCode::OK, "application/json", text)
}

/// A response without a body.
pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A response with a body of content type `kind`.
pub(crate) fn body(status: StatusCode, kind: &'static str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
