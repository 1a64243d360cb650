//! The five transactions up to the commit, a call for each statement, each once for all engines.

use std::fmt::Write as _;

use barograph_engine::OpContext;

use crate::input::{CustomerChoice, District, Input, Key, LineInput, NewOrder, Payment};
use crate::session::{Access, Demand, OrderHead, PricedLines, Reply, Session, TransactionError};
use crate::tables::DISTRICTS;
use crate::user::Request;

/// Orders that Stock-Level looks at.
pub(crate) const LATEST: i64 = 20;

/// Spaces between the names of warehouse and district in a row of history.
pub(crate) const BETWEEN_NAMES: &str = "    ";

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A placed order with its total, in cents.
    Ordered { total: i64 },
    /// A planned rollback: an item of the order does not exist.
    RolledBack,
    /// A payment, in cents.
    Paid { cents: i64 },
    /// A read-only transaction.
    Read,
    /// Delivered orders, and the number of districts without an open one.
    Delivered { orders: i64, left_out: i64 },
}

/// Buffers of a user, reused by each transaction.
#[derive(Debug, Default)]
pub(crate) struct TransactionBuffers {
    pub(crate) text: String,
    pub(crate) found: Vec<i64>,
    /// Ends of the parts of the text.
    pub(crate) ends: Vec<usize>,
    pub(crate) lists: LineLists,
}

/// Values of all lines of an order, each list in one parameter of a statement.
pub(crate) type LineLists = [String; 5];

/// Writes values between brackets and with commas. Writing into a text cannot fail, so errors of `write` are left out.
pub(crate) fn write_list<T>(
    list: &mut String,
    [open, close]: [char; 2],
    values: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> std::fmt::Result,
) {
    list.clear();
    list.push(open);
    for (place, value) in values.into_iter().enumerate() {
        if place > 0 {
            list.push(',');
        }
        let _ = write(list, value);
    }
    list.push(close);
}

/// Appends the price of the line with a number, which counts from 1, unless the item of an earlier one is unknown.
pub(crate) fn add_price(prices: &mut Vec<i64>, number: i64, price: i64) {
    if number == prices.len() as i64 + 1 {
        prices.push(price);
    }
}

/// Does a transaction up to its commit.
pub(crate) async fn transact(
    session: &mut impl Session,
    asked: Request,
    (input, room): (&Input, &mut TransactionBuffers),
    context: &mut OpContext,
) -> Reply<End> {
    match asked {
        Request::NewOrder(order) => new_order(session, (order, &input.lines), room, context).await,
        Request::Payment(asked) => payment(session, (asked, input), room, context).await,
        Request::OrderStatus(of, who) => order_status(session, (of, who, input), room, context).await,
        Request::Delivery(w, carrier) => delivery(session, (w, carrier), context).await,
        Request::StockLevel(of, threshold) => stock_level(session, (of, threshold), context).await,
    }
}

/// New-Order: places an order.
async fn new_order(
    session: &mut impl Session,
    (order, lines): (NewOrder, &[LineInput]),
    room: &mut TransactionBuffers,
    context: &mut OpContext,
) -> Reply<End> {
    let NewOrder { customer, all_local } = order;
    let District { w, d } = customer.of;
    session.begin(Access::Write, context).await?;
    let warehouse_tax = session.warehouse_tax(w).await?;
    let numbered = session.take_number(customer.of).await?;
    let discount = session.discount(customer).await?;
    let placed = Key { of: customer.of, id: numbered.order };
    let head = OrderHead { customer: customer.id, lines: lines.len() as i64, all_local };
    session.insert_order(placed, head).await?;
    session.insert_open(placed).await?;
    let TransactionBuffers { text: infos, found: prices, ends, lists } = room;
    infos.clear();
    prices.clear();
    ends.clear();
    session.prices(lines, prices, lists).await?;
    let known = &lines[..prices.len()];
    for LineInput { supply, item, quantity } in known.iter().copied() {
        let taken = Demand { supply, item, quantity, is_remote: supply != w, district: d };
        session.take_stock(taken, infos).await?;
        ends.push(infos.len());
    }
    let priced = PricedLines { lines: known, prices, infos, ends };
    session.insert_lines(placed, priced, lists).await?;
    if known.len() < lines.len() {
        session.roll_back().await?;
        return Ok(End::RolledBack);
    }
    Ok(End::Ordered { total: total(priced.sum(), discount, warehouse_tax + numbered.tax) })
}

/// The sum less the discount, plus taxes, rounded to cents. Discount and taxes are ten-thousandths.
pub(crate) fn total(sum: i64, discount: i64, taxes: i64) -> i64 {
    const ONE: i64 = 10_000;
    (sum * (ONE - discount) * (ONE + taxes) + ONE * ONE / 2) / (ONE * ONE)
}

/// Payment: takes a payment of a customer.
async fn payment(
    session: &mut impl Session,
    (payment, input): (Payment, &Input),
    room: &mut TransactionBuffers,
    context: &mut OpContext,
) -> Reply<End> {
    let Payment { district, customer_of, who, cents } = payment;
    session.begin(Access::Write, context).await?;
    room.text.clear();
    session.pay_warehouse(district.w, cents, &mut room.text).await?;
    room.text.push_str(BETWEEN_NAMES);
    session.pay_district(district, cents, &mut room.text).await?;
    let customer = customer(session, (customer_of, who), input, &mut room.found).await?;
    let names = room.text.len();
    append_note(customer, (district, cents), &mut room.text);
    let (names, note) = room.text.split_at(names);
    session.pay(customer, cents, note).await?;
    session.insert_history(customer, district, (cents, names)).await?;
    Ok(End::Paid { cents })
}

/// Appends what is noted of a payment in the data of a customer with bad credit.
pub(crate) fn append_note(customer: Key, (to, cents): (District, i64), text: &mut String) {
    let (Key { of, id }, District { w, d }) = (customer, to);
    // Writing into a text cannot fail.
    let _ = write!(text, "{id} {} {} {d} {w} {cents} ", of.d, of.w);
}

/// The customer of an input. Of several with the same last name, the middle one by first name.
async fn customer(
    session: &mut impl Session,
    (of, who): (District, CustomerChoice),
    input: &Input,
    found: &mut Vec<i64>,
) -> Reply<Key> {
    if let CustomerChoice::Id(id) = who {
        return Ok(Key { of, id });
    }
    found.clear();
    session.named(of, &input.name, found).await?;
    middle(of, found)
}

/// The middle one of the customers with a last name.
pub(crate) fn middle(of: District, found: &[i64]) -> Reply<Key> {
    match found.get(found.len().saturating_sub(1) / 2) {
        Some(id) => Ok(Key { of, id: *id }),
        None => Err(TransactionError::missing("customer of a last name")),
    }
}

/// Order-Status: reads the latest order of a customer.
async fn order_status(
    session: &mut impl Session,
    (of, who, input): (District, CustomerChoice, &Input),
    room: &mut TransactionBuffers,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let customer = customer(session, (of, who), input, &mut room.found).await?;
    session.balance(customer).await?;
    let latest = session.latest_order(customer).await?;
    let order = Key { of, id: latest.ok_or_else(|| TransactionError::missing("order of a customer"))? };
    if session.read_lines(order).await? == 0 {
        return Err(TransactionError::missing("lines of an order"));
    }
    Ok(End::Read)
}

/// Delivery: delivers the oldest open order of each district.
async fn delivery(
    session: &mut impl Session,
    (w, carrier): (i64, i64),
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    let mut orders = 0;
    for d in 1..=DISTRICTS {
        let of = District { w, d };
        let Some(oldest) = session.take_oldest(of).await? else { continue };
        let order = Key { of, id: oldest };
        let customer = session.carry(order, carrier).await?;
        let cents = session.deliver(order).await?;
        session.charge(Key { of, id: customer }, cents).await?;
        orders += 1;
    }
    Ok(End::Delivered { orders, left_out: DISTRICTS - orders })
}

/// Stock-Level: counts the items of a district's latest orders with low stock.
async fn stock_level(
    session: &mut impl Session,
    (of, threshold): (District, i64),
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let next = session.next_number(of).await?;
    session.low_stock(of, (next - LATEST, next - 1), threshold).await?;
    Ok(End::Read)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn totals_are_exact_to_half_a_cent() {
        for ((sum, discount, taxes), expected) in [
            ((10_000, 0, 0), 10_000),
            ((10_000, 5_000, 4_000), 7_000),
            // 99 cents less 12.34 % plus 7.89 % are 93.630...
            ((99, 1_234, 789), 94),
            ((1, 5_000, 0), 1),
            ((15 * 10 * 10_000, 0, 4_000), 2_100_000),
        ] {
            assert_eq!(total(sum, discount, taxes), expected, "{sum} {discount} {taxes}");
        }
    }
}
