//! One verb of one resource, and the words in which the table of them is written.

use utoipa::ToSchema;
use utoipa::openapi::path::HttpMethod;

use super::bounds::{self, Bound};
use crate::limits::{MAX_CATEGORY, MAX_SEARCH};

/// What a body is.
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

/// What a request brings along.
pub(super) enum Request {
    /// Nothing.
    Nothing,
    /// JSON of this schema.
    Json(String),
    /// A form with one image.
    Upload,
}

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Everybody.
    Public,
    /// Who has a token.
    Token,
}

/// A part of the query string: its name and what it may be.
pub(super) type Asked = (&'static str, Bound);

/// One verb of one resource.
pub(super) struct Endpoint {
    pub(super) verb: HttpMethod,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    pub(super) query: &'static [Asked],
    pub(super) request: Request,
    pub(super) status: u16,
    pub(super) answer: Body,
    /// What else it answers; the body is an `ErrorBody` for these.
    pub(super) errors: &'static [u16],
    /// What it answers with the body of the good answer, or without one.
    pub(super) also: &'static [u16],
}

/// A page of a list.
pub(super) const PAGE: &[Asked] = &[("page", Bound::Page), ("pageSize", Bound::PageSize)];
/// A page of a list, in a span of time.
pub(super) const SPAN: &[Asked] = &[
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
    ("fromDate", bounds::MILLIS),
    ("toDate", bounds::MILLIS),
];
/// A search of auctions.
pub(super) const AUCTION_SEARCH: &[Asked] = &[
    ("text", Bound::Text(0, MAX_SEARCH)),
    ("category", Bound::Text(0, MAX_CATEGORY)),
    ("state", Bound::Word("AuctionState")),
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
];
/// A search of items.
pub(super) const ITEM_SEARCH: &[Asked] = &[
    ("text", Bound::Text(0, MAX_SEARCH)),
    ("state", Bound::Word("ItemState")),
    ("condition", Bound::Word("Condition")),
    ("fromCents", bounds::CENTS),
    ("toCents", bounds::CENTS),
    ("page", Bound::Page),
    ("pageSize", Bound::PageSize),
];
/// A size of an image; the one query that must be there.
pub(super) const SIZE: &[Asked] = &[(SIZE_NAME, Bound::Word("ImageSize"))];
/// The name in [`SIZE`].
pub(super) const SIZE_NAME: &str = "size";

/// What a part of a path may be.
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

/// Something to read.
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

/// Something to read without a token.
pub(super) fn public(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint { access: Access::Public, errors: &[], ..get(path, summary, answer) }
}

/// Something to add.
pub(super) fn post<T: ToSchema>(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Post,
        request: Request::Json(T::name().into_owned()),
        status: 201,
        errors: &[400, 401, 408, 413, 415, 503],
        ..get(path, summary, answer)
    }
}

/// Something to change.
pub(super) fn put<T: ToSchema>(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Put,
        status: 200,
        errors: &[400, 401, 403, 404, 408, 409, 413, 415, 503],
        ..post::<T>(path, summary, answer)
    }
}

/// Something to remove.
pub(super) fn delete(path: &'static str, summary: &'static str) -> Endpoint {
    Endpoint { verb: HttpMethod::Delete, status: 204, ..get(path, summary, Body::Nothing) }
}
