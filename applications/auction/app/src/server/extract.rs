//! Extractors of the handlers: the caller, path parts, a window of a list, a JSON body. Each refuses
//! malformed input with an error of the contract.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use barograph_auction_api::{
    Cents, DEFAULT_PAGE_SIZE, ErrorCode, MAX_CENTS, MAX_INTEGER, MAX_MILLIS, MAX_PAGE, MAX_PAGE_SIZE, Millis,
    PageQuery, TOKEN_HEADER, UserId,
};
use barograph_auction_store::PageWindow;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use uuid::Uuid;

use super::error::ApiError;
use crate::app::App;

/// Time limit of a JSON body. It fits into a few packets, so only a broken or hostile peer takes longer.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The caller, by the token in the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) id: UserId,
    pub(crate) token: u128,
}

impl Caller {
    /// Refuses callers that act for another user.
    pub(crate) fn must_be(&self, user: UserId) -> Result<(), ApiError> {
        if self.id == user {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Forbidden, "this belongs to another user"))
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let refuse = |text| ApiError::new(ErrorCode::Unauthorized, text);
        let header = parts.headers.get(TOKEN_HEADER).ok_or_else(|| refuse("no token"))?;
        let token = Uuid::try_parse_ascii(header.as_bytes()).map_err(|_| refuse("the token is none"))?;
        let key = token.as_u128();
        let load = async || app.relational.token_holder(&token.to_string()).await;
        let holder = app.sessions.get_or_load(&key, load).await?;
        let id = holder.ok_or_else(|| refuse("the token is not valid"))?;
        Ok(Caller { id, token: key })
    }
}

/// Parts of the path.
pub(crate) struct PathParts<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for PathParts<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let found = Path::<T>::from_request_parts(parts, app).await;
        found.map(|path| PathParts(path.0)).map_err(|e| ApiError::bad(e.body_text()))
    }
}

/// The query string.
pub(crate) struct QueryString<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for QueryString<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let found = Query::<T>::from_request_parts(parts, app).await;
        found.map(|query| QueryString(query.0)).map_err(|e| ApiError::bad(e.body_text()))
    }
}

/// A checked page of a list.
pub(crate) fn window(page: Option<u32>, page_size: Option<u32>) -> Result<PageWindow, ApiError> {
    let (page, size) = (page.unwrap_or(0), page_size.unwrap_or(DEFAULT_PAGE_SIZE));
    if page > MAX_PAGE {
        return Err(ApiError::bad(format!("page is {page}, but must be from 0 to {MAX_PAGE}")));
    }
    if !(1..=MAX_PAGE_SIZE).contains(&size) {
        return Err(ApiError::bad(format!("pageSize is {size}, but must be from 1 to {MAX_PAGE_SIZE}")));
    }
    Ok(PageWindow { page, size })
}

/// The page parameters of most lists. A type of its own because [`PageWindow`] is of another crate.
pub(crate) struct PageParameters(pub(crate) PageWindow);

impl FromRequestParts<Arc<App>> for PageParameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let QueryString(query) = QueryString::<PageQuery>::from_request_parts(parts, app).await?;
        window(query.page, query.page_size).map(PageParameters)
    }
}

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let slow = |_| ApiError::new(ErrorCode::TooSlow, "the body did not come in time");
        match timeout(BODY_TIME, Json::<T>::from_request(request, app)).await.map_err(slow)? {
            Ok(body) => Ok(JsonBody(body.0)),
            Err(error) => {
                let code = match &error {
                    JsonRejection::MissingJsonContentType(_) => ErrorCode::NotJson,
                    JsonRejection::BytesRejection(e) if e.status().as_u16() == 413 => ErrorCode::TooLarge,
                    _ => ErrorCode::BadRequest,
                };
                Err(ApiError::new(code, error.body_text()))
            }
        }
    }
}

/// Refuses a number that is not an id, for routes that do not look it up in a store.
pub(crate) fn check_id(what: &'static str, id: i64) -> Result<(), ApiError> {
    if (1..=MAX_INTEGER).contains(&id) { Ok(()) } else { Err(ApiError::no_such(what)) }
}

/// Refuses a text that is empty, is longer than `most` characters, or holds characters that not every store
/// keeps.
pub(crate) fn check_text(name: &'static str, text: &str, most: usize) -> Result<(), ApiError> {
    if text.is_empty() {
        return Err(ApiError::bad(format!("{name} is empty")));
    }
    check_search(name, text, most)
}

/// Like [`check_text`] for a text that may be empty.
pub(crate) fn check_search(name: &'static str, text: &str, most: usize) -> Result<(), ApiError> {
    if text.contains('\0') {
        return Err(ApiError::bad(format!("{name} has a zero character")));
    }
    // A character has at least one byte, so most texts need no counting.
    if text.len() > most && text.chars().count() > most {
        return Err(ApiError::bad(format!("{name} has more than {most} characters")));
    }
    Ok(())
}

/// Refuses an impossible amount.
pub(crate) fn check_cents(name: &'static str, cents: Cents) -> Result<(), ApiError> {
    if (0..=MAX_CENTS).contains(&cents) {
        return Ok(());
    }
    Err(ApiError::bad(format!("{name} is {cents}, but must be from 0 to {MAX_CENTS}")))
}

/// Refuses a time outside of the calendar.
pub(crate) fn check_millis(name: &'static str, at: Millis) -> Result<(), ApiError> {
    if (-MAX_MILLIS..=MAX_MILLIS).contains(&at) {
        return Ok(());
    }
    Err(ApiError::bad(format!("{name} is {at}, but must be from -{MAX_MILLIS} to {MAX_MILLIS}")))
}
