//! Lists come in pages, with the real total.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Entries per page when the query does not say.
pub const DEFAULT_PAGE_SIZE: u32 = 10;

/// The most entries a page may have; a query for more is refused.
pub const MAX_PAGE_SIZE: u32 = 100;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The entries of this page, fewer than `page_size` only on the last one.
    pub items: Vec<T>,
    /// Number of this page, from 0.
    pub page: u32,
    /// Entries per page.
    pub page_size: u32,
    /// Entries in the whole list.
    pub total_records: u64,
}

/// Which page of a list is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageQuery {
    /// Number of the page, from 0 to [`crate::MAX_PAGE`]; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Entries per page, 1 to [`MAX_PAGE_SIZE`]; [`DEFAULT_PAGE_SIZE`] when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
}
