//! The operations over the statements of an engine, each up to its commit.

use barograph_database::{Access, Reply, TransactionError, Value};
use barograph_engine::OpContext;
use barograph_model::Outcome;

use crate::generate::{FULL, LEAST_STOCK, tax};
use crate::input::{Login, Order, Search};
use crate::session::{Field, OrderHead, OrderLine, Session};

/// Lines of history that a login reads.
const HISTORY: i64 = 10;

/// The result of a successful operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Login,
    /// The number of the new customer.
    Registration(i64),
    /// The number of products found.
    Search(i64),
    Order(Sale),
    /// A planned shortage: the order was rolled back.
    Shortage,
}

/// Sums over the lines of one order or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sale {
    pub(crate) lines: i64,
    pub(crate) units: i64,
    /// Net amounts.
    pub(crate) cents: i64,
    /// Restocked products.
    pub(crate) restocks: i64,
}

/// A wrong answer.
fn wrong(why: &str) -> TransactionError {
    TransactionError::Failed { outcome: Outcome::WrongAnswer, why: why.to_owned() }
}

/// Login: finds the customer and reads its history.
pub(crate) async fn login(session: &mut impl Session, login: &Login, context: &mut OpContext) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let found = session.customer(&login.name, &login.password).await?;
    if found != Some(login.customer) {
        return Err(TransactionError::missing("customer with this name and password"));
    }
    session.read_history(login.customer, HISTORY).await?;
    Ok(End::Login)
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

/// BrowseByCategory: reads special offers. Each category has one at least.
pub(crate) async fn browse_category(session: &mut impl Session, (category, most): (i64, i64)) -> Reply<End> {
    match session.specials(category, most).await? {
        0 => Err(TransactionError::missing("special offer of a category")),
        found => Ok(End::Search(found)),
    }
}

/// BrowseByTitle and BrowseByActor: a search by two words.
pub(crate) async fn search(session: &mut impl Session, field: Field, search: &Search) -> Reply<End> {
    let found = session.search(field, search.pair.words(), search.most).await?;
    match (search.is_known, found) {
        (true, 0) => Err(TransactionError::missing("product with words that one has")),
        (false, 1..) => Err(wrong("a product with words that none has")),
        _ => Ok(End::Search(found)),
    }
}

/// Purchase: places an order. Lines change stock by number of the product. A line whose stock is short rolls all back.
pub(crate) async fn purchase(
    session: &mut impl Session,
    order: &Order,
    prices: &mut Vec<i64>,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    prices.clear();
    let mut placed = Sale { lines: order.lines.len() as i64, ..Sale::default() };
    for line in &order.lines {
        let price = session.price(line.product).await?.ok_or_else(|| TransactionError::missing("product"))?;
        let Some(left) = session.take_stock(line.product, line.quantity).await? else {
            if !order.is_short {
                return Err(wrong("no stock of a product that is restocked"));
            }
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
    if order.is_short {
        return Err(wrong("stock of a product that is sold out"));
    }
    let customer = order.customer;
    let head = OrderHead { customer, lines: placed.lines, net: placed.cents, tax: tax(placed.cents) };
    let number = session.insert_order(head).await?;
    for ((line, price), place) in order.lines.iter().zip(&*prices).zip(1..) {
        let (product, quantity) = (line.product, line.quantity);
        let line = OrderLine { order: number, number: place, product, quantity, cents: price * quantity };
        session.insert_line(line).await?;
        session.insert_history(customer, line).await?;
    }
    Ok(End::Order(placed))
}
