//! The pipelined form: the statements of a transaction in the fewest calls, those of the last one left to the commit.
//!
//! A transaction has the statements that it has as calls for each. Their order differs: New-Order reads prices first, and
//! Delivery goes through its districts with each of its steps.

use barograph_database::Transactions as _;
use barograph_database_engines::{PostgresSession, Rows};
use barograph_engine::OpContext;
use barograph_postgres::Param;

use super::arrays;
use super::session::{ints, key, read_price};
use super::statements::Sql;
use crate::input::{CustomerChoice, District, Input, Key, LineInput, NewOrder, Payment};
use crate::session::{Access, OrderNumber, PricedLines, Reply};
use crate::tables::DISTRICTS;
use crate::transactions::{BETWEEN_NAMES, End, LATEST, TransactionBuffers, append_note, middle, total};
use crate::user::Request;

type Session = PostgresSession<Sql>;

/// Does a transaction up to its commit.
pub(super) async fn transact(
    session: &mut Session,
    asked: Request,
    (input, room): (&Input, &mut TransactionBuffers),
    context: &mut OpContext,
) -> Reply<End> {
    let access = match asked {
        Request::NewOrder(_) | Request::Payment(_) | Request::Delivery(..) => Access::Write,
        Request::OrderStatus(..) | Request::StockLevel(..) => Access::Read,
    };
    session.begin(access, context).await?;
    match asked {
        Request::NewOrder(order) => new_order(session, (order, &input.lines), room).await,
        Request::Payment(asked) => payment(session, (asked, input), room).await,
        Request::OrderStatus(of, who) => order_status(session, (of, who, input), room).await,
        Request::Delivery(w, carrier) => delivery(session, (w, carrier)).await,
        Request::StockLevel(of, threshold) => stock_level(session, (of, threshold)).await,
    }
}

async fn new_order(
    session: &mut Session,
    (order, lines): (NewOrder, &[LineInput]),
    room: &mut TransactionBuffers,
) -> Reply<End> {
    let NewOrder { customer, all_local } = order;
    let of = customer.of;
    session.add(Sql::WarehouseTax, &ints([of.w]), Rows::Exactly(1, "warehouse"))?;
    session.add(Sql::TakeNumber, &ints([of.w, of.d]), Rows::Exactly(1, "district"))?;
    session.add(Sql::Discount, &key(customer), Rows::Exactly(1, "customer"))?;
    session.add(Sql::Prices, &arrays::items(lines, &mut room.lists), Rows::Any)?;
    let (mut warehouse_tax, mut discount, mut numbered) = (0, 0, OrderNumber { order: 0, tax: 0 });
    let prices = &mut room.found;
    prices.clear();
    let read = session.flush(|place, row| {
        match place {
            0 => warehouse_tax = row.get(0)?,
            1 => numbered = OrderNumber { order: row.get(0)?, tax: row.get(1)? },
            2 => discount = row.get(0)?,
            _ => read_price(row, prices)?,
        }
        Ok(())
    });
    read.await?;
    let placed = Key { of, id: numbered.order };
    let head = [of.w, of.d, placed.id, customer.id, lines.len() as i64, all_local.into()];
    session.add(Sql::InsertOrder, &ints(head), Rows::Exactly(1, "room for an order"))?;
    session.add(Sql::InsertOpen, &key(placed), Rows::Exactly(1, "room for an open order"))?;
    let known = &lines[..prices.len()];
    for LineInput { supply, item, quantity } in known {
        let values = ints([*supply, *item, *quantity, (*supply != of.w).into(), of.d]);
        session.add(Sql::TakeStock, &values, Rows::Exactly(1, "stock"))?;
    }
    room.text.clear();
    room.ends.clear();
    let read = session.flush(|_, row| {
        room.text.push_str(row.get(0)?);
        room.ends.push(room.text.len());
        Ok(())
    });
    read.await?;
    let TransactionBuffers { text: infos, found: prices, ends, lists } = room;
    let priced = PricedLines { lines: known, prices, infos, ends };
    let rows = Rows::Exactly(known.len(), "room for an order line");
    session.add(Sql::InsertLines, &arrays::rows(placed, priced, lists), rows)?;
    if known.len() < lines.len() {
        session.flush(|_, _| Ok(())).await?;
        session.roll_back().await?;
        return Ok(End::RolledBack);
    }
    Ok(End::Ordered { total: total(priced.sum(), discount, warehouse_tax + numbered.tax) })
}

async fn payment(
    session: &mut Session,
    (payment, input): (Payment, &Input),
    room: &mut TransactionBuffers,
) -> Reply<End> {
    let Payment { district: to, customer_of, who, cents } = payment;
    session.add(Sql::PayWarehouse, &ints([to.w, cents]), Rows::Exactly(1, "warehouse"))?;
    session.add(Sql::PayDistrict, &ints([to.w, to.d, cents]), Rows::Exactly(1, "district"))?;
    add_named(session, (customer_of, who), input)?;
    let TransactionBuffers { text, found, .. } = room;
    text.clear();
    found.clear();
    let read = session.flush(|place, row| {
        match place {
            0 => text.push_str(row.get(0)?),
            1 => text.extend([BETWEEN_NAMES, row.get(0)?]),
            _ => found.push(row.get(0)?),
        }
        Ok(())
    });
    read.await?;
    let customer = customer((customer_of, who), found)?;
    let names = text.len();
    append_note(customer, (to, cents), text);
    let (names, note) = text.split_at(names);
    let ([w, d, c], [to_w, to_d, cents]) = (key(customer), ints([to.w, to.d, cents]));
    session.add(Sql::Pay, &[w, d, c, cents, Param::Text(note)], Rows::Exactly(1, "customer"))?;
    let values = [w, d, c, to_w, to_d, cents, Param::Text(names)];
    session.add(Sql::InsertHistory, &values, Rows::Exactly(1, "room for a payment"))?;
    Ok(End::Paid { cents: payment.cents })
}

/// Adds the query of a customer's last name, if it is named by it.
fn add_named(session: &mut Session, (of, who): (District, CustomerChoice), input: &Input) -> Reply<()> {
    match who {
        CustomerChoice::Id(_) => Ok(()),
        CustomerChoice::Name => {
            let [w, d] = ints([of.w, of.d]);
            session.add(Sql::Named, &[w, d, Param::Text(&input.name)], Rows::Any)
        }
    }
}

/// The customer of an input, of those with its last name.
fn customer((of, who): (District, CustomerChoice), found: &[i64]) -> Reply<Key> {
    match who {
        CustomerChoice::Id(id) => Ok(Key { of, id }),
        CustomerChoice::Name => middle(of, found),
    }
}

async fn order_status(
    session: &mut Session,
    (of, who, input): (District, CustomerChoice, &Input),
    room: &mut TransactionBuffers,
) -> Reply<End> {
    add_named(session, (of, who), input)?;
    let found = &mut room.found;
    found.clear();
    let read = session.flush(|_, row| {
        found.push(row.get(0)?);
        Ok(())
    });
    read.await?;
    let customer = customer((of, who), found)?;
    session.add(Sql::Balance, &key(customer), Rows::Exactly(1, "customer"))?;
    session.add(Sql::LatestOrder, &key(customer), Rows::Exactly(1, "order of a customer"))?;
    let mut order = Key { of, id: 0 };
    let read = session.flush(|place, row| {
        if place == 1 {
            order.id = row.get(0)?;
        }
        Ok(())
    });
    read.await?;
    session.add(Sql::ReadLines, &key(order), Rows::Some("lines of an order"))?;
    Ok(End::Read)
}

async fn delivery(session: &mut Session, (w, carrier): (i64, i64)) -> Reply<End> {
    /// A delivery to a district: the order, its customer and its sum.
    #[derive(Clone, Copy, Default)]
    struct Delivered {
        order: i64,
        customer: i64,
        cents: i64,
    }
    let mut all = [None; DISTRICTS as usize];
    for d in 1..=DISTRICTS {
        session.add(Sql::TakeOldest, &ints([w, d]), Rows::Any)?;
    }
    let read = session.flush(|place, row| {
        all[place] = Some(Delivered { order: row.get(0)?, ..Delivered::default() });
        Ok(())
    });
    read.await?;
    let open = || (1..).zip(all).filter_map(|(d, one)| one.map(|one| (d, one)));
    for (d, Delivered { order, .. }) in open() {
        let [w, d, o, carrier] = ints([w, d, order, carrier]);
        session.add(Sql::Carry, &[w, d, o, carrier], Rows::Exactly(1, "order"))?;
        session.add(Sql::Deliver, &[w, d, o], Rows::Any)?;
    }
    let mut done = [Delivered::default(); DISTRICTS as usize];
    let read = session.flush(|place, row| {
        let one = &mut done[place / 2];
        match place % 2 {
            0 => one.customer = row.get(0)?,
            _ => one.cents += row.get::<i64>(0)?,
        }
        Ok(())
    });
    read.await?;
    let mut orders = 0;
    for ((d, _), Delivered { customer, cents, .. }) in open().zip(done) {
        session.add(Sql::Charge, &ints([w, d, customer, cents]), Rows::Exactly(1, "customer"))?;
        orders += 1;
    }
    Ok(End::Delivered { orders, left_out: DISTRICTS - orders })
}

async fn stock_level(session: &mut Session, (of, threshold): (District, i64)) -> Reply<End> {
    let mut next = 0;
    session.add(Sql::NextNumber, &ints([of.w, of.d]), Rows::Exactly(1, "district"))?;
    let read = session.flush(|_, row| {
        next = row.get(0)?;
        Ok(())
    });
    read.await?;
    let values = ints([of.w, of.d, next - LATEST, next - 1, threshold]);
    session.add(Sql::LowStock, &values, Rows::Exactly(1, "count of stock"))?;
    Ok(End::Read)
}
