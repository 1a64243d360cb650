//! Refusals of requests.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use barograph_auction_api::{ErrorBody, ErrorCode};
use barograph_auction_store::StoreError;
use barograph_store_images::{Full, PictureError};

use super::respond;
use crate::app::OwnerRefusal;
use crate::publisher::with_cause;

/// A refusal with its reason.
#[derive(Debug)]
pub(crate) struct ApiError {
    code: ErrorCode,
    message: Cow<'static, str>,
}

impl ApiError {
    /// A refusal with a code and a message for people.
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        ApiError { code, message: message.into() }
    }

    /// The resource does not exist.
    pub(crate) fn no_such(what: &'static str) -> Self {
        ApiError::new(ErrorCode::NotFound, format!("no such {what}"))
    }

    /// The request is malformed.
    pub(crate) fn bad(message: impl Into<Cow<'static, str>>) -> Self {
        ApiError::new(ErrorCode::BadRequest, message)
    }

    /// The node is stopping, or is ending all polls.
    pub(crate) fn stopping() -> Self {
        ApiError::new(ErrorCode::Stopping, "the application is about to stop")
    }

    /// The HTTP status of the code.
    pub(crate) fn status(&self) -> StatusCode {
        match self.code {
            ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
            ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::NotAnImage => StatusCode::NOT_ACCEPTABLE,
            ErrorCode::NoNews | ErrorCode::TooSlow => StatusCode::REQUEST_TIMEOUT,
            ErrorCode::NameTaken
            | ErrorCode::ItemListed
            | ErrorCode::TooManyImages
            | ErrorCode::AuctionNotRunning
            | ErrorCode::NotAttending => StatusCode::CONFLICT,
            ErrorCode::AuctionComplete | ErrorCode::AuctionNotTracked => StatusCode::GONE,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::NotJson | ErrorCode::NotMultipart => StatusCode::UNSUPPORTED_MEDIA_TYPE,
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
        let message = with_cause(&error);
        tracing::debug!(message, "a store did not answer a request");
        ApiError::new(code, message)
    }
}

impl From<PictureError> for ApiError {
    fn from(error: PictureError) -> Self {
        let message = with_cause(&error);
        tracing::debug!(message, "the image store did not answer a request");
        ApiError::new(ErrorCode::StoreFailed, message)
    }
}

impl From<Full> for ApiError {
    fn from(full: Full) -> Self {
        let code = if matches!(full, Full::Closed) { ErrorCode::Stopping } else { ErrorCode::Busy };
        ApiError::new(code, with_cause(&full))
    }
}

impl From<OwnerRefusal> for ApiError {
    fn from(refused: OwnerRefusal) -> Self {
        match refused {
            OwnerRefusal::NoOwner => {
                ApiError::new(ErrorCode::Busy, "the auction goes from one node to another")
            }
            OwnerRefusal::Busy => ApiError::new(ErrorCode::Busy, "too many bids wait to be decided"),
            OwnerRefusal::CutOff => {
                ApiError::new(ErrorCode::Busy, "another node decides, and the bus to it is down")
            }
            OwnerRefusal::Stopping => ApiError::stopping(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody { code: self.code, message: self.message.to_string() };
        respond::json(self.status(), &body)
    }
}
