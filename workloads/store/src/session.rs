//! The seam to engines: one connection of one user, with a method for each statement that the operations need.
//!
//! The operations are written once over it, so they mean the same on every engine. Engines differ in the text of a statement, in
//! how its values are bound and read, and in whether a call waits: calls of an engine that blocks are ready when they return.
//! A search by two words finds the products that have both of them as whole words, by number of the product.

use barograph_database::{Reply, Transactions, Value};

/// Columns of a customer, without its number.
pub(crate) const CUSTOMER: usize = 19;

/// The head of an order. All amounts are cents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderHead {
    pub(crate) customer: i64,
    pub(crate) lines: i64,
    pub(crate) net: i64,
    pub(crate) tax: i64,
}

/// A line of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderLine {
    pub(crate) order: i64,
    pub(crate) number: i64,
    pub(crate) product: i64,
    pub(crate) quantity: i64,
    pub(crate) cents: i64,
}

/// The column that a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Title,
    Actor,
}

/// Rows that statements have read, as lines of text, for answers that show them.
#[derive(Debug, Default)]
pub(crate) struct Page(Option<Vec<String>>);

impl Page {
    /// A page that keeps its rows. The default one drops them.
    pub(crate) fn kept() -> Self {
        Page(Some(Vec::new()))
    }

    /// Adds a row, unless rows are dropped.
    pub(crate) fn add<E>(&mut self, write: impl FnOnce(&mut String) -> Result<(), E>) -> Result<(), E> {
        let Some(rows) = &mut self.0 else { return Ok(()) };
        let mut row = String::new();
        write(&mut row)?;
        rows.push(row);
        Ok(())
    }

    /// Its rows.
    pub(crate) fn into_rows(self) -> Vec<String> {
        self.0.unwrap_or_default()
    }
}

/// A connection to the database.
pub(crate) trait Session: Transactions {
    /// The customer with a name and a password.
    async fn customer(&mut self, name: &str, password: &str) -> Reply<Option<i64>>;
    /// Reads the latest lines of a customer's history, each with its title and another product's, and counts them.
    async fn read_history(&mut self, customer: i64, most: i64, page: &mut Page) -> Reply<i64>;
    /// Inserts a customer, a row without its number. Returns the number.
    async fn insert_customer(&mut self, row: &[Value]) -> Reply<i64>;

    /// Reads products of a category on special offer, and counts them.
    async fn specials(&mut self, category: i64, most: i64, page: &mut Page) -> Reply<i64>;
    /// Reads products that have two words in a field, and counts them.
    async fn search(&mut self, field: Field, words: [&str; 2], most: i64, page: &mut Page) -> Reply<i64>;

    /// The price of a product.
    async fn price(&mut self, product: i64) -> Reply<Option<i64>>;
    /// Lowers stock by a quantity and adds it to what is sold, in one statement. Returns the new stock; `None` where stock is
    /// short, which changes nothing.
    async fn take_stock(&mut self, product: i64, quantity: i64) -> Reply<Option<i64>>;
    /// Raises stock by a quantity, and notes it beside the stock before.
    async fn restock(&mut self, product: i64, low: i64, quantity: i64) -> Reply<()>;
    /// Inserts an order. Returns its number.
    async fn insert_order(&mut self, head: OrderHead) -> Reply<i64>;
    async fn insert_line(&mut self, line: OrderLine) -> Reply<()>;
    async fn insert_history(&mut self, customer: i64, line: OrderLine) -> Reply<()>;
}
