//! The seam to engines: one connection of one user, with a method for each statement that the transactions need.
//!
//! The transactions are written once over it, so they mean the same on every engine. Engines differ in the text of a statement,
//! in how its values are bound and read, and in whether a call waits: calls of an engine that blocks are ready when they return.
//! Statements as data would need values of any type, which cost memory for each call.

pub(crate) use barograph_database::{Access, Reply, TransactionError, Transactions};
use barograph_engine::OpContext;

use crate::input::{District, Input, Key, LineInput};
use crate::transactions::{End, LineLists, TransactionBuffers};
use crate::user::Request;

/// The head of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderHead {
    pub(crate) customer: i64,
    pub(crate) lines: i64,
    pub(crate) all_local: bool,
}

/// The demand of an order line on the stock of a warehouse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
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

/// The lines of an order with their prices and the texts of their stock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PricedLines<'a> {
    pub(crate) lines: &'a [LineInput],
    pub(crate) prices: &'a [i64],
    /// The texts, one after the other.
    pub(crate) infos: &'a str,
    /// The ends of the texts.
    pub(crate) ends: &'a [usize],
}

impl<'a> PricedLines<'a> {
    /// The lines by their numbers.
    pub(crate) fn numbered(self) -> impl Iterator<Item = OrderLine<'a>> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let infos = begins.zip(self.ends).map(move |(begin, end)| &self.infos[begin..*end]);
        (1..).zip(self.lines).zip(self.prices.iter().zip(infos)).map(|((number, line), (price, info))| {
            let LineInput { supply, item, quantity } = *line;
            OrderLine { number, item, supply, quantity, cents: price * quantity, info }
        })
    }

    /// The sum of all amounts, in cents.
    pub(crate) fn sum(self) -> i64 {
        self.numbered().map(|line| line.cents).sum()
    }
}

/// The number of a new order, and the tax of its district.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderNumber {
    pub(crate) order: i64,
    /// In ten-thousandths.
    pub(crate) tax: i64,
}

/// A connection to the database. All amounts are cents, all taxes and discounts ten-thousandths.
pub(crate) trait Session: Transactions {
    /// Does a whole transaction with its commit by a function or procedure of the database.
    async fn call_function(
        &mut self,
        asked: Request,
        input: &Input,
        room: &mut TransactionBuffers,
    ) -> Reply<End> {
        let _ = (asked, input, room);
        Err(TransactionError::missing("function of the database"))
    }

    /// Does a transaction up to its commit, with calls for statements that need no answer of each other. The last ones leave
    /// with the commit.
    async fn pipeline(
        &mut self,
        asked: Request,
        (input, room): (&Input, &mut TransactionBuffers),
        context: &mut OpContext,
    ) -> Reply<End> {
        let _ = (asked, input, room, context);
        Err(TransactionError::missing("pipeline of statements"))
    }

    /// The tax of a warehouse.
    async fn warehouse_tax(&mut self, w: i64) -> Reply<i64>;
    /// Takes the number of the next order of a district.
    async fn take_number(&mut self, of: District) -> Reply<OrderNumber>;
    /// The discount of a customer.
    async fn discount(&mut self, customer: Key) -> Reply<i64>;
    async fn insert_order(&mut self, order: Key, head: OrderHead) -> Reply<()>;
    async fn insert_open(&mut self, order: Key) -> Reply<()>;
    /// Appends the prices of lines to `prices`, in their order, up to the first unknown item.
    async fn prices(
        &mut self,
        lines: &[LineInput],
        prices: &mut Vec<i64>,
        lists: &mut LineLists,
    ) -> Reply<()>;
    /// Lowers stock by the quantity, and raises it by 91 where fewer than 10 would be left, in one statement. Appends the text
    /// for the district to `infos`.
    async fn take_stock(&mut self, taken: Demand, infos: &mut String) -> Reply<()>;
    async fn insert_lines(&mut self, order: Key, lines: PricedLines<'_>, lists: &mut LineLists) -> Reply<()>;

    /// Adds a payment to a warehouse, and appends the name of the warehouse to `names`.
    async fn pay_warehouse(&mut self, w: i64, cents: i64, names: &mut String) -> Reply<()>;
    /// Adds a payment to a district, and appends its name to `names`.
    async fn pay_district(&mut self, of: District, cents: i64, names: &mut String) -> Reply<()>;
    /// Appends the customers with a last name to `found`, by first name.
    async fn named(&mut self, of: District, name: &str, found: &mut Vec<i64>) -> Reply<()>;
    /// Takes a payment from a customer's balance. Of a customer with bad credit, `note` goes before the data, which are cut at
    /// 500 characters.
    async fn pay(&mut self, customer: Key, cents: i64, note: &str) -> Reply<()>;
    async fn insert_history(&mut self, customer: Key, to: District, paid: (i64, &str)) -> Reply<()>;

    /// The balance of a customer.
    async fn balance(&mut self, customer: Key) -> Reply<i64>;
    /// The latest order of a customer.
    async fn latest_order(&mut self, customer: Key) -> Reply<Option<i64>>;
    /// Reads the lines of an order, and counts them.
    async fn read_lines(&mut self, order: Key) -> Reply<i64>;

    /// Removes the oldest open order of a district from the open ones.
    async fn take_oldest(&mut self, of: District) -> Reply<Option<i64>>;
    /// Sets the carrier of an order. Returns the customer.
    async fn carry(&mut self, order: Key, carrier: i64) -> Reply<i64>;
    /// Sets the date of delivery of an order's lines. Returns the sum of their amounts.
    async fn deliver(&mut self, order: Key) -> Reply<i64>;
    /// Adds a delivered order to a customer's balance.
    async fn charge(&mut self, customer: Key, cents: i64) -> Reply<()>;

    /// The number of the next order of a district.
    async fn next_number(&mut self, of: District) -> Reply<i64>;
    /// The number of items in a range of orders whose stock is below the threshold.
    async fn low_stock(&mut self, of: District, orders: (i64, i64), threshold: i64) -> Reply<i64>;
}
