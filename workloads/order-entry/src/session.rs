//! The seam to engines: one connection of one user, with a method for each statement that the transactions need.
//!
//! The transactions are written once over it. What differs between engines is the text of a statement, how its values are
//! bound, and whether a call waits: calls of an engine that blocks are ready when they return.

use barograph_engine::Turn;
use barograph_model::Outcome;

use crate::input::{District, Key};

/// What a transaction does to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Why a transaction could not go on. It is rolled back by then, or has to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It met another transaction; the whole may be tried again.
    Conflict(Conflict),
    /// It failed.
    Failed { outcome: Outcome, why: String },
}

impl Trouble {
    /// The database is not what the workload made it.
    pub(crate) fn missing(what: &str) -> Self {
        Trouble::Failed { outcome: Outcome::WrongAnswer, why: format!("no {what}") }
    }
}

/// How transactions meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Another held a lock for too long.
    Busy,
    /// Another has changed what this one has read.
    Snapshot,
}

pub(crate) type Done<T> = Result<T, Trouble>;

/// The head of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderHead {
    pub(crate) customer: i64,
    pub(crate) lines: i64,
    pub(crate) all_local: bool,
}

/// What an order takes from the stock of a warehouse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) supply: i64,
    pub(crate) item: i64,
    pub(crate) quantity: i64,
    pub(crate) is_remote: bool,
    /// The district of the order.
    pub(crate) district: i64,
}

/// A line of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderLine<'a> {
    pub(crate) number: i64,
    pub(crate) item: i64,
    pub(crate) supply: i64,
    pub(crate) quantity: i64,
    pub(crate) cents: i64,
    pub(crate) info: &'a str,
}

/// What a district answers to a new order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    pub(crate) order: i64,
    /// In ten-thousandths.
    pub(crate) tax: i64,
}

/// A connection to the database. All amounts are cents, all taxes and discounts ten-thousandths.
pub(crate) trait Session {
    /// Begins a transaction.
    async fn begin(&mut self, access: Access, turn: &mut Turn) -> Done<()>;
    /// Keeps what the transaction did.
    async fn commit(&mut self) -> Done<()>;
    /// Undoes what the transaction did; nothing where none is open.
    async fn roll_back(&mut self) -> Done<()>;

    /// The tax of a warehouse.
    async fn warehouse_tax(&mut self, w: i64) -> Done<i64>;
    /// Takes the number of the next order of a district.
    async fn take_number(&mut self, of: District) -> Done<Numbered>;
    /// The discount of a customer.
    async fn discount(&mut self, customer: Key) -> Done<i64>;
    async fn insert_order(&mut self, order: Key, head: OrderHead) -> Done<()>;
    async fn insert_open(&mut self, order: Key) -> Done<()>;
    /// The price of an item, if it exists.
    async fn price(&mut self, item: i64) -> Done<Option<i64>>;
    /// Lowers stock and fills it up by 91 where fewer than 10 would be left, in one rule of the database. `info` becomes the
    /// information on the district.
    async fn take_stock(&mut self, taken: Taken, info: &mut String) -> Done<()>;
    async fn insert_line(&mut self, order: Key, line: OrderLine<'_>) -> Done<()>;

    /// Adds a payment to a warehouse; its name goes to the end of `names`.
    async fn pay_warehouse(&mut self, w: i64, cents: i64, names: &mut String) -> Done<()>;
    /// The same of a district.
    async fn pay_district(&mut self, of: District, cents: i64, names: &mut String) -> Done<()>;
    /// The customers of a last name by first name.
    async fn named(&mut self, of: District, name: &str, found: &mut Vec<i64>) -> Done<()>;
    /// Takes a payment from a customer's balance. Where its credit is bad, `note` goes before its data, of which 500 characters
    /// are kept.
    async fn pay(&mut self, customer: Key, cents: i64, note: &str) -> Done<()>;
    async fn insert_history(&mut self, customer: Key, to: District, paid: (i64, &str)) -> Done<()>;

    /// Reads name and balance of a customer.
    async fn balance(&mut self, customer: Key) -> Done<i64>;
    /// The latest order of a customer.
    async fn latest_order(&mut self, customer: Key) -> Done<Option<i64>>;
    /// Reads the lines of an order; how many there are.
    async fn read_lines(&mut self, order: Key) -> Done<i64>;

    /// Takes the oldest open order of a district off the list.
    async fn take_oldest(&mut self, of: District) -> Done<Option<i64>>;
    /// Gives an order to a carrier; its customer.
    async fn carry(&mut self, order: Key, carrier: i64) -> Done<i64>;
    /// Dates the lines of an order; the sum of their amounts.
    async fn deliver(&mut self, order: Key) -> Done<i64>;
    /// Adds a delivered order to a customer's balance.
    async fn charge(&mut self, customer: Key, cents: i64) -> Done<()>;

    /// The number that the next order of a district will have.
    async fn next_number(&mut self, of: District) -> Done<i64>;
    /// How many items of these orders are low at the warehouse.
    async fn low_stock(&mut self, of: District, orders: (i64, i64), threshold: i64) -> Done<i64>;
}
