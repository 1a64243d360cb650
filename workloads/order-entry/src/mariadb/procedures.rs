//! The stored form: a call of a procedure for each transaction.

use std::fmt::Write as _;

use barograph_database_engines::MariadbSession;
use barograph_mysql::{Param, Row};

use super::session::ints;
use super::statements::Sql;
use crate::input::{CustomerChoice, Input, LineInput};
use crate::session::{Reply, TransactionError};
use crate::tables::DISTRICTS;
use crate::transactions::{End, TransactionBuffers};
use crate::user::Request;

/// Writes the lines of an order in digits: 5 of the warehouse, 6 of the item, 2 of the quantity.
fn digits(lines: &[LineInput], text: &mut String) {
    text.clear();
    for LineInput { supply, item, quantity } in lines {
        // Writing into a text cannot fail.
        let _ = write!(text, "{supply:05}{item:06}{quantity:02}");
    }
}

/// Does a transaction by its procedure.
pub(super) async fn call(
    session: &mut MariadbSession<Sql>,
    asked: Request,
    (input, room): (&Input, &mut TransactionBuffers),
) -> Reply<End> {
    match asked {
        Request::NewOrder(order) => {
            let of = order.customer.of;
            let demands = &mut room.lists[0];
            digits(&input.lines, demands);
            let [w, d, c, all_local] = ints([of.w, of.d, order.customer.id, order.all_local.into()]);
            let values = [w, d, c, all_local, Param::Text(demands)];
            let total = result(session, Sql::NewOrder, &values).await?;
            Ok(total.map_or(End::RolledBack, |total| End::Ordered { total }))
        }
        Request::Payment(payment) => {
            let (to, of, (who, name)) = (payment.district, payment.customer_of, named(payment.who, input));
            let [w, d, c_w, c_d, cents] = ints([to.w, to.d, of.w, of.d, payment.cents]);
            result(session, Sql::Payment, &[w, d, c_w, c_d, who, name, cents]).await?;
            Ok(End::Paid { cents: payment.cents })
        }
        Request::OrderStatus(of, who) => {
            let ([w, d], (who, name)) = (ints([of.w, of.d]), named(who, input));
            let mut lines = 0;
            let count = |_: &Row<'_>| {
                lines += 1;
                Ok(())
            };
            session.call_procedure(Sql::OrderStatus, &[w, d, who, name], count).await?;
            if lines == 0 { Err(TransactionError::missing("lines of an order")) } else { Ok(End::Read) }
        }
        Request::Delivery(w, carrier) => {
            let orders = result(session, Sql::Delivery, &ints([w, carrier])).await?.unwrap_or(0);
            Ok(End::Delivered { orders, left_out: DISTRICTS - orders })
        }
        Request::StockLevel(of, threshold) => {
            result(session, Sql::StockLevel, &ints([of.w, of.d, threshold])).await?;
            Ok(End::Read)
        }
    }
}

/// The number that a procedure returns; `None` for null.
async fn result(session: &mut MariadbSession<Sql>, sql: Sql, values: &[Param<'_>]) -> Reply<Option<i64>> {
    let mut number = None;
    let read = |row: &Row<'_>| {
        number = row.get_optional(0)?;
        Ok(())
    };
    session.call_procedure(sql, values, read).await?;
    Ok(number)
}

/// A customer by id or by last name, the other one null.
fn named(who: CustomerChoice, input: &Input) -> (Param<'static>, Param<'_>) {
    match who {
        CustomerChoice::Id(id) => (Param::Int(id), Param::Null),
        CustomerChoice::Name => (Param::Null, Param::Text(&input.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_digits() {
        let line = |item| LineInput { supply: 1, item, quantity: 9 };
        let mut text = "old".to_owned();
        digits(&[line(12), line(100_001)], &mut text);
        assert_eq!(text, "0000100001209000011000010".to_owned() + "9");
    }
}
