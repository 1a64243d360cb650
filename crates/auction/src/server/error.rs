//! What a request is answered with when it is not answered as asked.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use barograph_auction_api::{ErrorBody, ErrorCode};

use super::respond;
use crate::publisher::with_cause;
use crate::store::StoreError;

/// A refusal with its reason.
#[derive(Debug)]
pub(crate) struct ApiError {
    code: ErrorCode,
    message: Cow<'static, str>,
}

impl ApiError {
    /// A refusal for this reason, with a sentence for people.
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        ApiError { code, message: message.into() }
    }

    /// There is no such thing.
    pub(crate) fn no_such(what: &'static str) -> Self {
        ApiError::new(ErrorCode::NotFound, format!("no such {what}"))
    }

    /// The status that goes with the code.
    pub(crate) fn status(&self) -> StatusCode {
        match self.code {
            ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
            ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::NoNews => StatusCode::REQUEST_TIMEOUT,
            ErrorCode::NameTaken | ErrorCode::AuctionNotRunning | ErrorCode::NotAttending => {
                StatusCode::CONFLICT
            }
            ErrorCode::AuctionComplete | ErrorCode::AuctionNotTracked => StatusCode::GONE,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorCode::Busy | ErrorCode::Stopping | ErrorCode::StoreFailed => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Full => ErrorCode::Busy,
            StoreError::Closed => ErrorCode::Stopping,
            _ => ErrorCode::StoreFailed,
        };
        ApiError::new(code, with_cause(&error))
    }
}

impl From<object_store::Error> for ApiError {
    fn from(error: object_store::Error) -> Self {
        ApiError::new(ErrorCode::StoreFailed, with_cause(&error))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody { code: self.code, message: self.message.to_string() };
        respond::json(self.status(), &body)
    }
}
