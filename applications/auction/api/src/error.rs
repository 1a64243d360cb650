//! Refusals of the application.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The reasons the application can give; the list is closed, a client may match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorCode {
    /// The request cannot be read: path, query or body (400, 422).
    BadRequest,
    /// No token, an unknown token, or wrong credentials (401).
    Unauthorized,
    /// The caller may not do this for somebody else (403).
    Forbidden,
    /// There is no such thing (404).
    NotFound,
    /// The resource does not know this verb (405).
    MethodNotAllowed,
    /// The upload is not an image: not by its content type, or not by its first bytes (406).
    NotAnImage,
    /// A long poll ended without news (408).
    NoNews,
    /// The body of the request did not come in time (408).
    TooSlow,
    /// The user name is taken (409).
    NameTaken,
    /// An auction lists the item, so it stays as it is (409).
    ItemListed,
    /// The item has as many images as an item may have (409).
    TooManyImages,
    /// The auction has not begun (409).
    AuctionNotRunning,
    /// The caller does not attend the auction (409).
    NotAttending,
    /// The auction is over (410).
    AuctionComplete,
    /// Nobody tracks this auction here (410).
    AuctionNotTracked,
    /// The body is larger than allowed (413).
    TooLarge,
    /// The body is not JSON by its content type (415).
    NotJson,
    /// The body is not `multipart/form-data` by its content type (415).
    NotMultipart,
    /// A queue is full; trying again later is sensible (503).
    Busy,
    /// The application is about to stop (503).
    Stopping,
    /// A store refused to work (503).
    StoreFailed,
    /// A bug in the application (500).
    Internal,
}

/// The body of every answer with status 400 and above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The reason, for programs.
    pub code: ErrorCode,
    /// The reason, for people.
    pub message: String,
}
