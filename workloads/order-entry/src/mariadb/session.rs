//! The statements of the transactions in a session of MariaDB.

use std::fmt::Write as _;

use barograph_database_engines::MariadbSession;
use barograph_mysql::{Param, Row};

use super::statements::Sql;
use crate::input::{District, Input, Key, LineInput};
use crate::session::{
    Demand, OrderHead, OrderLine, OrderNumber, PricedLines, Reply, Session, TransactionError,
};
use crate::transactions::{End, LineLists, TransactionBuffers, add_price, write_list};
use crate::user::Request;

impl Session for MariadbSession<Sql> {
    async fn call_function(
        &mut self,
        asked: Request,
        input: &Input,
        room: &mut TransactionBuffers,
    ) -> Reply<End> {
        super::procedures::call(self, asked, (input, room)).await
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
        let district = ints([of.w, of.d]);
        self.call(Sql::LockNumber, &district, read).await?;
        self.change_one(Sql::RaiseNumber, &district, "district").await?;
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
        [list, ..]: &mut LineLists,
    ) -> Reply<()> {
        write_items(list, lines);
        let read = |row: &Row<'_>| {
            add_price(prices, row.get(1)?, row.get(0)?);
            Ok(())
        };
        self.call(Sql::Prices, &[Param::Text(list)], read).await.map(drop)
    }

    async fn take_stock(&mut self, taken: Demand, infos: &mut String) -> Reply<()> {
        let Demand { supply, item, quantity, is_remote, district } = taken;
        let values = ints([quantity, quantity, quantity, is_remote.into(), supply, item]);
        self.change_one(Sql::TakeStock, &values, "stock").await?;
        self.text(Sql::StockInfo, &ints([district, supply, item]), (infos, "stock")).await
    }

    async fn insert_lines(
        &mut self,
        order: Key,
        lines: PricedLines<'_>,
        [list, ..]: &mut LineLists,
    ) -> Reply<()> {
        write_lines(list, lines);
        let [w, d, o] = key(order);
        let values = [w, d, o, Param::Text(list)];
        self.change(Sql::InsertLines, &values, (lines.lines.len(), "room for an order line")).await
    }

    async fn pay_warehouse(&mut self, w: i64, cents: i64, names: &mut String) -> Reply<()> {
        self.change_one(Sql::PayWarehouse, &ints([cents, w]), "warehouse").await?;
        self.text(Sql::WarehouseName, &[Param::Int(w)], (names, "warehouse")).await
    }

    async fn pay_district(&mut self, of: District, cents: i64, names: &mut String) -> Reply<()> {
        self.change_one(Sql::PayDistrict, &ints([cents, of.w, of.d]), "district").await?;
        self.text(Sql::DistrictName, &ints([of.w, of.d]), (names, "district")).await
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
        let cents = Param::Int(cents);
        self.change_one(Sql::Pay, &[cents, cents, Param::Text(note), w, d, c], "customer").await?;
        self.number(Sql::Paid, &[w, d, c], "customer").await.map(drop)
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
        self.change_one(Sql::Carry, &[Param::Int(carrier), w, d, o], "order").await?;
        self.number(Sql::Carried, &[w, d, o], "order").await
    }

    async fn deliver(&mut self, order: Key) -> Reply<i64> {
        self.call(Sql::Deliver, &key(order), |_| Ok(())).await?;
        self.number(Sql::Delivered, &key(order), "line of an order").await
    }

    async fn charge(&mut self, customer: Key, cents: i64) -> Reply<()> {
        let [w, d, c] = key(customer);
        self.change_one(Sql::Charge, &[Param::Int(cents), w, d, c], "customer").await
    }

    async fn next_number(&mut self, of: District) -> Reply<i64> {
        self.number(Sql::NextNumber, &ints([of.w, of.d]), "district").await
    }

    async fn low_stock(&mut self, of: District, (first, last): (i64, i64), threshold: i64) -> Reply<i64> {
        self.number(Sql::LowStock, &ints([of.w, of.d, first, last, threshold]), "count of stock").await
    }
}

/// The brackets of a list in JSON.
const BRACKETS: [char; 2] = ['[', ']'];

/// Writes the items of lines as a list in JSON.
fn write_items(list: &mut String, lines: &[LineInput]) {
    write_list(list, BRACKETS, lines, |list, line| write!(list, "{}", line.item));
}

/// Writes lines as a list of lists in JSON.
fn write_lines(list: &mut String, lines: PricedLines<'_>) {
    write_list(list, BRACKETS, lines.numbered(), |list, line| {
        let OrderLine { item, supply, quantity, cents, info, .. } = line;
        write!(list, "[{item},{supply},{quantity},{cents},\"")?;
        write_characters(list, info)?;
        list.write_str("\"]")
    });
}

/// Writes what stands between the quotes of a text in JSON.
fn write_characters(list: &mut String, text: &str) -> std::fmt::Result {
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(list, "\\{character}")?,
            '\0'..'\x20' => write!(list, "\\u{:04x}", u32::from(character))?,
            _ => list.write_char(character)?,
        }
    }
    Ok(())
}

pub(super) fn ints<const N: usize>(numbers: [i64; N]) -> [Param<'static>; N] {
    numbers.map(Param::Int)
}

/// The columns of a key.
fn key(key: Key) -> [Param<'static>; 3] {
    ints([key.of.w, key.of.d, key.id])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_lists_in_json() {
        let lines = [(7, 2), (8, 10)].map(|(item, quantity)| LineInput { supply: 1, item, quantity });
        let mut list = "old".to_owned();
        write_items(&mut list, &lines);
        assert_eq!(list, "[7,8]");
        let priced = PricedLines { lines: &lines, prices: &[50, 3], infos: "abcde", ends: &[2, 5] };
        write_lines(&mut list, priced);
        assert_eq!(list, r#"[[7,1,2,100,"ab"],[8,1,10,30,"cde"]]"#);
        assert_eq!(priced.sum(), 130);
        let priced = PricedLines { lines: &lines[..1], prices: &[50], infos: "a\"b\\c\t", ends: &[6] };
        write_lines(&mut list, priced);
        assert_eq!(list, r#"[[7,1,2,100,"a\"b\\c\u0009"]]"#);
        write_items(&mut list, &[]);
        assert_eq!(list, "[]");
    }
}
