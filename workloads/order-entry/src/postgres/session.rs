//! The statements of the transactions in a session of PostgreSQL.

use barograph_database_engines::PostgresSession;
use barograph_engine::OpContext;
use barograph_postgres::{Fault, Param, Row};

use super::arrays;
use super::statements::Sql;
use crate::input::{District, Input, Key, LineInput};
use crate::session::{Demand, OrderHead, OrderNumber, PricedLines, Reply, Session, TransactionError};
use crate::transactions::{End, LineLists, TransactionBuffers, add_price};
use crate::user::Request;

impl Session for PostgresSession<Sql> {
    async fn call_function(
        &mut self,
        asked: Request,
        input: &Input,
        room: &mut TransactionBuffers,
    ) -> Reply<End> {
        super::functions::call(self, asked, (input, room)).await
    }

    async fn pipeline(
        &mut self,
        asked: Request,
        buffers: (&Input, &mut TransactionBuffers),
        context: &mut OpContext,
    ) -> Reply<End> {
        super::pipelined::transact(self, asked, buffers, context).await
    }

    async fn warehouse_tax(&mut self, w: i64) -> Reply<i64> {
        self.number(Sql::WarehouseTax, &[Param::Int(w)], "warehouse").await
    }

    async fn take_number(&mut self, of: District) -> Reply<OrderNumber> {
        let mut numbered = None;
        let read = |row: &Row<'_>| {
            numbered = Some(OrderNumber { order: row.get(0)?, tax: row.get(1)? });
            Ok(())
        };
        self.call(Sql::TakeNumber, &ints([of.w, of.d]), read).await?;
        numbered.ok_or_else(|| TransactionError::missing("district"))
    }

    async fn discount(&mut self, customer: Key) -> Reply<i64> {
        self.number(Sql::Discount, &key(customer), "customer").await
    }

    async fn insert_order(&mut self, order: Key, head: OrderHead) -> Reply<()> {
        let OrderHead { customer, lines, all_local } = head;
        let values = [order.of.w, order.of.d, order.id, customer, lines, all_local.into()];
        self.change_one(Sql::InsertOrder, &ints(values), "room for an order").await
    }

    async fn insert_open(&mut self, order: Key) -> Reply<()> {
        self.change_one(Sql::InsertOpen, &key(order), "room for an open order").await
    }

    async fn prices(
        &mut self,
        lines: &[LineInput],
        prices: &mut Vec<i64>,
        lists: &mut LineLists,
    ) -> Reply<()> {
        let read = |row: &Row<'_>| read_price(row, prices);
        self.call(Sql::Prices, &arrays::items(lines, lists), read).await.map(drop)
    }

    async fn take_stock(&mut self, taken: Demand, infos: &mut String) -> Reply<()> {
        let Demand { supply, item, quantity, is_remote, district } = taken;
        let values = ints([supply, item, quantity, is_remote.into(), district]);
        self.text(Sql::TakeStock, &values, (infos, "stock")).await
    }

    async fn insert_lines(&mut self, order: Key, lines: PricedLines<'_>, lists: &mut LineLists) -> Reply<()> {
        let values = arrays::rows(order, lines, lists);
        self.change(Sql::InsertLines, &values, (lines.lines.len(), "room for an order line")).await
    }

    async fn pay_warehouse(&mut self, w: i64, cents: i64, names: &mut String) -> Reply<()> {
        self.text(Sql::PayWarehouse, &ints([w, cents]), (names, "warehouse")).await
    }

    async fn pay_district(&mut self, of: District, cents: i64, names: &mut String) -> Reply<()> {
        self.text(Sql::PayDistrict, &ints([of.w, of.d, cents]), (names, "district")).await
    }

    async fn named(&mut self, of: District, name: &str, found: &mut Vec<i64>) -> Reply<()> {
        let read = |row: &Row<'_>| {
            found.push(row.get(0)?);
            Ok(())
        };
        let values = [Param::Int(of.w), Param::Int(of.d), Param::Text(name)];
        self.call(Sql::Named, &values, read).await.map(drop)
    }

    async fn pay(&mut self, customer: Key, cents: i64, note: &str) -> Reply<()> {
        let [w, d, c] = key(customer);
        let values = [w, d, c, Param::Int(cents), Param::Text(note)];
        self.number(Sql::Pay, &values, "customer").await.map(drop)
    }

    async fn insert_history(
        &mut self,
        customer: Key,
        to: District,
        (cents, names): (i64, &str),
    ) -> Reply<()> {
        let [w, d, c] = key(customer);
        let [to_w, to_d, cents] = ints([to.w, to.d, cents]);
        let values = [w, d, c, to_w, to_d, cents, Param::Text(names)];
        self.change_one(Sql::InsertHistory, &values, "room for a payment").await
    }

    async fn balance(&mut self, customer: Key) -> Reply<i64> {
        self.number(Sql::Balance, &key(customer), "customer").await
    }

    async fn latest_order(&mut self, customer: Key) -> Reply<Option<i64>> {
        self.optional(Sql::LatestOrder, &key(customer)).await
    }

    async fn read_lines(&mut self, order: Key) -> Reply<i64> {
        self.count(Sql::ReadLines, &key(order)).await
    }

    async fn take_oldest(&mut self, of: District) -> Reply<Option<i64>> {
        self.optional(Sql::TakeOldest, &ints([of.w, of.d])).await
    }

    async fn carry(&mut self, order: Key, carrier: i64) -> Reply<i64> {
        let [w, d, o] = key(order);
        self.number(Sql::Carry, &[w, d, o, Param::Int(carrier)], "order").await
    }

    async fn deliver(&mut self, order: Key) -> Reply<i64> {
        let mut cents = 0;
        let read = |row: &Row<'_>| {
            cents += row.get::<i64>(0)?;
            Ok(())
        };
        self.call(Sql::Deliver, &key(order), read).await?;
        Ok(cents)
    }

    async fn charge(&mut self, customer: Key, cents: i64) -> Reply<()> {
        let [w, d, c] = key(customer);
        self.change_one(Sql::Charge, &[w, d, c, Param::Int(cents)], "customer").await
    }

    async fn next_number(&mut self, of: District) -> Reply<i64> {
        self.number(Sql::NextNumber, &ints([of.w, of.d]), "district").await
    }

    async fn low_stock(&mut self, of: District, (first, last): (i64, i64), threshold: i64) -> Reply<i64> {
        self.number(Sql::LowStock, &ints([of.w, of.d, first, last, threshold]), "count of stock").await
    }
}

/// Reads the price of a line.
pub(super) fn read_price(row: &Row<'_>, prices: &mut Vec<i64>) -> Result<(), Fault> {
    add_price(prices, row.get(1)?, row.get(0)?);
    Ok(())
}

pub(super) fn ints<const N: usize>(numbers: [i64; N]) -> [Param<'static>; N] {
    numbers.map(Param::Int)
}

/// The columns of a key.
pub(super) fn key(key: Key) -> [Param<'static>; 3] {
    ints([key.of.w, key.of.d, key.id])
}
