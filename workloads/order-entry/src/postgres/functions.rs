//! The stored form: a call of a function for each transaction.

use std::fmt::Write as _;

use barograph_postgres::{Fault, Param, Row, SqlState};

use super::session::{PostgresSession, ints};
use super::statements::Sql;
use crate::input::{CustomerChoice, Input, LineInput};
use crate::session::{Reply, TransactionError};
use crate::tables::DISTRICTS;
use crate::transactions::End;
use crate::user::Request;

/// The state of an order with an unknown item, which is rolled back.
const UNKNOWN_ITEM: SqlState = SqlState(*b"OE001");

/// The lines of an order as arrays: warehouses, items, quantities.
#[derive(Debug, Default)]
pub(super) struct Arrays([String; 3]);

impl Arrays {
    fn set(&mut self, lines: &[LineInput]) {
        for (at, text) in self.0.iter_mut().enumerate() {
            text.clear();
            text.push('{');
            for (number, line) in lines.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { "," });
                // Writing into a text cannot fail.
                let _ = write!(text, "{}", [line.supply, line.item, line.quantity][at]);
            }
            text.push('}');
        }
    }
}

impl PostgresSession {
    /// Does a transaction by its function.
    pub(super) async fn function(&mut self, asked: Request, input: &Input) -> Reply<End> {
        let done = match asked {
            Request::NewOrder(order) => {
                let (mut arrays, of) = (std::mem::take(&mut self.arrays), order.customer.of);
                arrays.set(&input.lines);
                let [w, d, c, all_local] = ints([of.w, of.d, order.customer.id, order.all_local.into()]);
                let [supplies, items, quantities] = &arrays.0;
                let lines = [Param::Text(supplies), Param::Text(items), Param::Text(quantities)];
                let [supplies, items, quantities] = lines;
                let values = [w, d, c, all_local, supplies, items, quantities];
                let total = self.result(Sql::NewOrder, &values).await;
                self.arrays = arrays;
                total.map(|total| End::Ordered { total })
            }
            Request::Payment(payment) => {
                let (to, of, (who, name)) =
                    (payment.district, payment.customer_of, named(payment.who, input));
                let [w, d, c_w, c_d, cents] = ints([to.w, to.d, of.w, of.d, payment.cents]);
                let paid = self.result(Sql::Payment, &[w, d, c_w, c_d, who, name, cents]).await;
                paid.map(|_| End::Paid { cents: payment.cents })
            }
            Request::OrderStatus(of, who) => {
                let ([w, d], (who, name)) = (ints([of.w, of.d]), named(who, input));
                match self.execute(Sql::OrderStatus, &[w, d, who, name], |_| Ok(())).await {
                    Ok(0) => return Err(TransactionError::missing("lines of an order")),
                    lines => lines.map(|_| End::Read),
                }
            }
            Request::Delivery(w, carrier) => {
                let delivered = self.result(Sql::Delivery, &ints([w, carrier])).await;
                delivered.map(|orders| End::Delivered { orders, left_out: DISTRICTS - orders })
            }
            Request::StockLevel(of, threshold) => {
                let low = self.result(Sql::StockLevel, &ints([of.w, of.d, threshold])).await;
                low.map(|_| End::Read)
            }
        };
        match done {
            Err(Fault::Server(said)) if said.state() == UNKNOWN_ITEM => Ok(End::RolledBack),
            done => done.map_err(|fault| self.trouble(&fault)),
        }
    }

    /// The number that a function returns.
    async fn result(&mut self, sql: Sql, values: &[Param<'_>]) -> Result<i64, Fault> {
        let mut number = 0;
        let read = |row: &Row<'_>| {
            number = row.get(0)?;
            Ok(())
        };
        self.execute(sql, values, read).await?;
        Ok(number)
    }
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
    fn lines_become_arrays() {
        let line = |item| LineInput { supply: 1, item, quantity: 9 };
        let mut arrays = Arrays::default();
        arrays.set(&[line(3)]);
        arrays.set(&[line(12), line(7)]);
        assert_eq!(arrays.0, ["{1,1}", "{12,7}", "{9,9}"]);
    }
}
