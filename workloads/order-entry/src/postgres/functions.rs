//! The stored form: a call of a function for each transaction.

use barograph_database_engines::PostgresSession;
use barograph_postgres::{Fault, Param, Row, SqlState};

use super::arrays;
use super::session::ints;
use super::statements::Sql;
use crate::input::{CustomerChoice, Input};
use crate::session::{Reply, TransactionError};
use crate::tables::DISTRICTS;
use crate::transactions::{End, TransactionBuffers};
use crate::user::Request;

/// The state of an order with an unknown item, which is rolled back.
const UNKNOWN_ITEM: SqlState = SqlState(*b"OE001");

/// Does a transaction by its function.
pub(super) async fn call(
    session: &mut PostgresSession<Sql>,
    asked: Request,
    (input, room): (&Input, &mut TransactionBuffers),
) -> Reply<End> {
    let done = match asked {
        Request::NewOrder(order) => {
            let of = order.customer.of;
            let [w, d, c, all_local] = ints([of.w, of.d, order.customer.id, order.all_local.into()]);
            let (lines, [supplies, items, quantities, ..]) = (&input.lines, &mut room.lists);
            arrays::write(supplies, lines.iter().map(|line| line.supply));
            arrays::write(items, lines.iter().map(|line| line.item));
            arrays::write(quantities, lines.iter().map(|line| line.quantity));
            let [supplies, items, quantities] = [supplies, items, quantities].map(|list| Param::Text(list));
            let values = [w, d, c, all_local, supplies, items, quantities];
            result(session, Sql::NewOrder, &values).await.map(|total| End::Ordered { total })
        }
        Request::Payment(payment) => {
            let (to, of, (who, name)) = (payment.district, payment.customer_of, named(payment.who, input));
            let [w, d, c_w, c_d, cents] = ints([to.w, to.d, of.w, of.d, payment.cents]);
            let paid = result(session, Sql::Payment, &[w, d, c_w, c_d, who, name, cents]).await;
            paid.map(|_| End::Paid { cents: payment.cents })
        }
        Request::OrderStatus(of, who) => {
            let ([w, d], (who, name)) = (ints([of.w, of.d]), named(who, input));
            match session.execute(Sql::OrderStatus, &[w, d, who, name], |_| Ok(())).await {
                Ok(0) => return Err(TransactionError::missing("lines of an order")),
                lines => lines.map(|_| End::Read),
            }
        }
        Request::Delivery(w, carrier) => {
            let delivered = result(session, Sql::Delivery, &ints([w, carrier])).await;
            delivered.map(|orders| End::Delivered { orders, left_out: DISTRICTS - orders })
        }
        Request::StockLevel(of, threshold) => {
            let low = result(session, Sql::StockLevel, &ints([of.w, of.d, threshold])).await;
            low.map(|_| End::Read)
        }
    };
    match done {
        Err(Fault::Server(said)) if said.state() == UNKNOWN_ITEM => Ok(End::RolledBack),
        done => done.map_err(|fault| session.trouble(&fault)),
    }
}

/// The number that a function returns.
async fn result(session: &mut PostgresSession<Sql>, sql: Sql, values: &[Param<'_>]) -> Result<i64, Fault> {
    let mut number = 0;
    let read = |row: &Row<'_>| {
        number = row.get(0)?;
        Ok(())
    };
    session.execute(sql, values, read).await?;
    Ok(number)
}

/// A customer by id or by last name, the other one null.
fn named(who: CustomerChoice, input: &Input) -> (Param<'static>, Param<'_>) {
    match who {
        CustomerChoice::Id(id) => (Param::Int(id), Param::Null),
        CustomerChoice::Name => (Param::Null, Param::Text(&input.name)),
    }
}
