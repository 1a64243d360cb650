//! Requests and answers of the web tier, shared by nodes and clients.
//!
//! A node answers with status 200 and an [`Answer`], or with another status and a reason as text. With a status of 4xx nothing
//! was committed.

use std::borrow::Cow;

use barograph_database::measures::{BUSY, DEADLOCKS, SNAPSHOT};
use barograph_model::CounterId;
use serde::{Deserialize, Serialize};

use crate::input::LineInput;
use crate::operations::End;

/// Path of the question whether a node serves.
pub(crate) const HEALTH: &str = "/health";

/// Path of [`LoginForm`].
pub(crate) const LOGIN: &str = "/login";

/// Path of the fields of a new customer, in the order of the columns.
pub(crate) const CUSTOMERS: &str = "/customers";

/// Path of [`ProductsQuery`].
pub(crate) const PRODUCTS: &str = "/products";

/// Path of [`OrderForm`].
pub(crate) const ORDERS: &str = "/orders";

/// Name and password.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoginForm<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) password: Cow<'a, str>,
}

/// A field of a new customer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CustomerField<'a> {
    Number(i64),
    Text(Cow<'a, str>),
}

/// A search: by category, or by two words of a title or of an actor.
#[derive(Debug, Deserialize)]
pub(crate) struct ProductsQuery {
    pub(crate) category: Option<i64>,
    pub(crate) title: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) most: i64,
}

/// An order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OrderForm<'a> {
    pub(crate) customer: i64,
    pub(crate) lines: Cow<'a, [LineInput]>,
}

/// The counters of [`Answer::retries`].
pub(crate) const RETRIES: [CounterId; 3] = [BUSY, SNAPSHOT, DEADLOCKS];

/// The answer to a request that met no error. `R` is the type of rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer<R> {
    pub(crate) end: End,
    /// Tries before that met other transactions, by kind.
    pub(crate) retries: [u64; RETRIES.len()],
    /// The products found, or the latest purchases of the customer.
    pub(crate) rows: Vec<R>,
}
