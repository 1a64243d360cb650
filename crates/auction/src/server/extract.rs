//! What handlers take from a request: the caller, path parts, a window of a list, a JSON body. Each refuses what it
//! cannot read with an error of the contract.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use barograph_auction_api::{DEFAULT_PAGE_SIZE, ErrorCode, MAX_PAGE_SIZE, PageQuery, TOKEN_HEADER, UserId};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::error::ApiError;
use crate::app::App;
use crate::store::Window;

/// Who asks, by the token in the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) id: UserId,
    pub(crate) token: u128,
}

impl Caller {
    /// Refuses callers that ask for somebody else.
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
        let holder = app.sessions.get_or_load(&key, || app.store.token_holder(&token.to_string()))?;
        let id = holder.ok_or_else(|| refuse("the token is not valid"))?;
        Ok(Caller { id, token: key })
    }
}

/// Parts of the path.
pub(crate) struct Parted<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Parted<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let found = Path::<T>::from_request_parts(parts, app).await;
        found.map(|path| Parted(path.0)).map_err(|e| ApiError::new(ErrorCode::BadRequest, e.body_text()))
    }
}

/// The query string.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let found = Query::<T>::from_request_parts(parts, app).await;
        found.map(|query| Asked(query.0)).map_err(|e| ApiError::new(ErrorCode::BadRequest, e.body_text()))
    }
}

/// A page of a list, checked.
pub(crate) fn window(page: Option<u32>, page_size: Option<u32>) -> Result<Window, ApiError> {
    let size = page_size.unwrap_or(DEFAULT_PAGE_SIZE);
    if (1..=MAX_PAGE_SIZE).contains(&size) {
        return Ok(Window { page: page.unwrap_or(0), size });
    }
    let text = format!("pageSize is {size}, but must be from 1 to {MAX_PAGE_SIZE}");
    Err(ApiError::new(ErrorCode::BadRequest, text))
}

impl FromRequestParts<Arc<App>> for Window {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let Asked(query) = Asked::<PageQuery>::from_request_parts(parts, app).await?;
        window(query.page, query.page_size)
    }
}

/// A JSON body.
pub(crate) struct Sent<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Sent<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        match Json::<T>::from_request(request, app).await {
            Ok(body) => Ok(Sent(body.0)),
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

/// Refuses a text that is empty or longer than `most` bytes.
pub(crate) fn check_text(name: &'static str, text: &str, most: usize) -> Result<(), ApiError> {
    if (1..=most).contains(&text.len()) {
        return Ok(());
    }
    let message = format!("{name} has {} bytes, but must have 1 to {most}", text.len());
    Err(ApiError::new(ErrorCode::BadRequest, message))
}
