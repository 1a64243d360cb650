//! The operations over the statements of an engine, each up to its commit.

use barograph_database::{Access, Reply, TransactionError, Value};
use barograph_engine::OpContext;
use serde::{Deserialize, Serialize};

use crate::generate::{FULL, LEAST_STOCK, tax};
use crate::input::LineInput;
use crate::session::{Field, OrderHead, OrderLine, Page, Session};

/// Lines of history that a login reads.
const HISTORY: i64 = 10;

/// The result of an operation that met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The number of the customer; `None` for a wrong name or password.
    Login(Option<i64>),
    /// The number of the new customer.
    Registration(i64),
    /// The number of products found.
    Search(i64),
    Order(Sale),
    /// A product of the order is short: the order was rolled back.
    Shortage,
}

impl End {
    /// Whether its transaction is to be committed. Searches begin none, and a shortage has rolled its own back.
    pub(crate) fn is_committed(self) -> bool {
        !matches!(self, End::Search(_) | End::Shortage)
    }
}

/// Sums over the lines of one order or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sale {
    pub(crate) lines: i64,
    pub(crate) units: i64,
    /// Net amounts.
    pub(crate) cents: i64,
    /// Restocked products.
    pub(crate) restocks: i64,
}

/// Login: finds the customer and reads its history.
pub(crate) async fn login(
    session: &mut impl Session,
    (name, password): (&str, &str),
    page: &mut Page,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let found = session.customer(name, password).await?;
    if let Some(customer) = found {
        session.read_history(customer, HISTORY, page).await?;
    }
    Ok(End::Login(found))
}

/// NewCustomer: inserts a customer.
pub(crate) async fn new_customer(
    session: &mut impl Session,
    row: &[Value],
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    let customer = session.insert_customer(row).await?;
    Ok(End::Registration(customer))
}

/// BrowseByCategory: reads special offers.
pub(crate) async fn browse_category(
    session: &mut impl Session,
    (category, most): (i64, i64),
    page: &mut Page,
) -> Reply<End> {
    Ok(End::Search(session.specials(category, most, page).await?))
}

/// BrowseByTitle and BrowseByActor: a search by two words.
pub(crate) async fn search(
    session: &mut impl Session,
    field: Field,
    (words, most): ([&str; 2], i64),
    page: &mut Page,
) -> Reply<End> {
    Ok(End::Search(session.search(field, words, most, page).await?))
}

/// Purchase: places an order. Lines change stock in their sequence. A line whose stock is short rolls all back.
pub(crate) async fn purchase(
    session: &mut impl Session,
    (customer, lines): (i64, &[LineInput]),
    prices: &mut Vec<i64>,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    prices.clear();
    let mut placed = Sale { lines: lines.len() as i64, ..Sale::default() };
    for line in lines {
        let price = session.price(line.product).await?.ok_or_else(|| TransactionError::missing("product"))?;
        let Some(left) = session.take_stock(line.product, line.quantity).await? else {
            session.roll_back().await?;
            return Ok(End::Shortage);
        };
        if left < LEAST_STOCK {
            session.restock(line.product, left, FULL - left).await?;
            placed.restocks += 1;
        }
        prices.push(price);
        placed.units += line.quantity;
        placed.cents += price * line.quantity;
    }
    let head = OrderHead { customer, lines: placed.lines, net: placed.cents, tax: tax(placed.cents) };
    let number = session.insert_order(head).await?;
    for ((line, price), place) in lines.iter().zip(&*prices).zip(1..) {
        let (product, quantity) = (line.product, line.quantity);
        let line = OrderLine { order: number, number: place, product, quantity, cents: price * quantity };
        session.insert_line(line).await?;
        session.insert_history(customer, line).await?;
    }
    Ok(End::Order(placed))
}
