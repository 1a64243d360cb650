//! One verb of one resource, and constructors for the table of endpoints.

use utoipa::ToSchema;
use utoipa::openapi::path::HttpMethod;

use super::bounds::{self, Bound};
use crate::limits::{MAX_CATEGORY, MAX_SEARCH};

/// Body of an answer.
pub(super) enum Body {
    /// There is none.
    Nothing,
    /// JSON of this schema.
    Json(String),
    /// A text of one of these content types.
    Text(&'static str),
    /// An image.
    Picture,
}

/// Body of a request.
pub(super) enum Request {
    /// Nothing.
    Nothing,
    /// JSON of this schema.
    Json(String),
    /// A form with one image.
    Upload,
}

/// Required authentication.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// None.
    Public,
    /// A token.
    Token,
}

/// A parameter of the query string: its name and bound.
pub(super) type QueryParameter = (&'static str, Bound);

/// One verb of one resource.
pub(super) struct Endpoint {
    pub(super) verb: HttpMethod,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    pub(super) query: &'static [QueryParameter],
    pub(super) request: Request,
    pub(super) status: u16,
    pub(super) answer: Body,
    /// Error statuses; their body is an `ErrorBody`.
    pub(super) errors: &'static [u16],
    /// Further statuses, with the body of the good answer, or without one.
    pub(super) also: &'static [u16],
}

/// A page of a list.
pub(super) const PAGE: &[QueryParameter] = &[("page", Bound::Page), ("pageSize", Bound::PageSize)];
/// A page of a list, in a span of time.
pub(super) const SPAN: &[QueryParameter] = &[
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
    ("fromDate", bounds::MILLIS),
    ("toDate", bounds::MILLIS),
];
/// A search of auctions.
pub(super) const AUCTION_SEARCH: &[QueryParameter] = &[
    ("text", Bound::Text(0, MAX_SEARCH)),
    ("category", Bound::Text(0, MAX_CATEGORY)),
    ("state", Bound::Word("AuctionState")),
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
];
/// A search of items.
pub(super) const ITEM_SEARCH: &[QueryParameter] = &[
    ("text", Bound::Text(0, MAX_SEARCH)),
    ("state", Bound::Word("ItemState")),
    ("condition", Bound::Word("Condition")),
    ("fromCents", bounds::CENTS),
    ("toCents", bounds::CENTS),
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
];
/// A size of an image; the one required query parameter.
pub(super) const SIZE: &[QueryParameter] = &[(SIZE_NAME, Bound::Word("ImageSize"))];
/// The name in [`SIZE`].
pub(super) const SIZE_NAME: &str = "size";

/// Bound of a part of a path.
pub(super) fn path_bound(name: &str) -> Bound {
    match name {
        "count" => bounds::COUNT,
        SIZE_NAME => Bound::Word("ImageSize"),
        _ => bounds::ID,
    }
}

/// JSON of a type.
pub(super) fn json<T: ToSchema>() -> Body {
    Body::Json(T::name().into_owned())
}

/// A page of a type.
pub(super) fn page_of<T: ToSchema>() -> Body {
    Body::Json(format!("Page_{}", T::name()))
}

/// An endpoint for reading.
pub(super) fn get(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Get,
        path,
        summary,
        access: Access::Token,
        query: &[],
        request: Request::Nothing,
        status: 200,
        answer,
        errors: &[400, 401, 503],
        also: &[],
    }
}

/// An endpoint for reading without a token.
pub(super) fn public(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint { access: Access::Public, errors: &[], ..get(path, summary, answer) }
}

/// An endpoint for adding.
pub(super) fn post<T: ToSchema>(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Post,
        request: Request::Json(T::name().into_owned()),
        status: 201,
        errors: &[400, 401, 408, 413, 415, 503],
        ..get(path, summary, answer)
    }
}

/// An endpoint for changing.
pub(super) fn put<T: ToSchema>(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Put,
        status: 200,
        errors: &[400, 401, 403, 404, 408, 409, 413, 415, 503],
        ..post::<T>(path, summary, answer)
    }
}

/// An endpoint for removing.
pub(super) fn delete(path: &'static str, summary: &'static str) -> Endpoint {
    Endpoint { verb: HttpMethod::Delete, status: 204, ..get(path, summary, Body::Nothing) }
}
