//! The session of a user: the statements of the transactions on MariaDB.

use barograph_engine::OpContext;
use barograph_model::words::in_one_line;
use barograph_mysql::{Client, Connection, ErrorCode, Fault, Param, Reply as Piece, Row, Statement};

use super::admin::run;
use super::statements::{ALL, Sql};
use crate::input::{District, Key};
use crate::session::{
    Access, Conflict, Demand, OrderHead, OrderLine, OrderNumber, Reply, Session, TransactionError,
};

/// A row was changed after the snapshot of the transaction: from MariaDB 11.6 on, and before with
/// `innodb_snapshot_isolation`.
const OUTDATED: ErrorCode = ErrorCode(1020);

/// A session with its prepared statements.
pub(super) struct MariadbSession {
    connection: Connection,
    statements: Vec<Statement>,
    /// A statement was sent since the last commit.
    is_open: bool,
    /// The connection has failed: the server rolls back.
    is_broken: bool,
}

impl MariadbSession {
    /// Begins a session. `number` chooses among the addresses of the server, `setup` is sent before anything else.
    pub(super) async fn open(client: &Client, number: u32, setup: &str) -> Result<Self, Fault> {
        let mut connection = client.connect(number).await?;
        run(&mut connection, setup).await?;
        let mut statements = Vec::with_capacity(ALL.len());
        for (_, sql) in ALL {
            statements.push(connection.prepare(sql).await?);
        }
        Ok(MariadbSession { connection, statements, is_open: false, is_broken: false })
    }

    /// Executes a statement and reads its rows. Returns the number of rows that it found or returned.
    async fn call(
        &mut self,
        sql: Sql,
        values: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<u64> {
        self.is_open = true;
        let answer = async {
            let mut replies = self.connection.start(self.statements[sql as usize], values)?;
            let (mut rows, mut wrong) = (0, None);
            while let Some(piece) = replies.next().await? {
                match piece {
                    Piece::Row(row) => wrong = wrong.or(read(&row).err()),
                    Piece::Done(done) => rows = done.rows,
                }
            }
            wrong.map_or(Ok(rows), Err)
        };
        answer.await.map_err(|fault| self.trouble(&fault))
    }

    /// The error of a transaction for one of the client.
    fn trouble(&mut self, fault: &Fault) -> TransactionError {
        self.is_broken = !matches!(fault, Fault::Server(_) | Fault::Call(_) | Fault::Column(_));
        let code = match fault {
            Fault::Server(said) => Some(said.code()),
            _ => None,
        };
        match code {
            Some(ErrorCode::DEADLOCK) => TransactionError::Conflict(Conflict::Deadlock),
            Some(ErrorCode::LOCK_WAIT_TIMEOUT) => TransactionError::Conflict(Conflict::Busy),
            Some(OUTDATED) => TransactionError::Conflict(Conflict::Snapshot),
            _ => TransactionError::Failed { outcome: fault.outcome(), why: in_one_line(fault) },
        }
    }

    /// Changes exactly one row.
    async fn change_one(&mut self, sql: Sql, values: &[Param<'_>], what: &str) -> Reply<()> {
        let changed = self.call(sql, values, |_| Ok(())).await?;
        if changed == 1 { Ok(()) } else { Err(TransactionError::missing(what)) }
    }

    /// The number in the first column of the last row, if any.
    async fn optional(&mut self, sql: Sql, values: &[Param<'_>]) -> Reply<Option<i64>> {
        let mut number = None;
        let read = |row: &Row<'_>| {
            number = Some(row.get(0)?);
            Ok(())
        };
        self.call(sql, values, read).await?;
        Ok(number)
    }

    /// The number in the first column of the one row.
    async fn number(&mut self, sql: Sql, values: &[Param<'_>], what: &str) -> Reply<i64> {
        self.optional(sql, values).await?.ok_or_else(|| TransactionError::missing(what))
    }

    /// Appends the text in the first column of the one row.
    async fn text(&mut self, sql: Sql, values: &[Param<'_>], (text, what): (&mut String, &str)) -> Reply<()> {
        let read = |row: &Row<'_>| {
            text.push_str(row.get(0)?);
            Ok(())
        };
        if self.call(sql, values, read).await? == 1 { Ok(()) } else { Err(TransactionError::missing(what)) }
    }
}

impl Session for MariadbSession {
    /// A transaction begins with its first statement.
    async fn begin(&mut self, _: Access, _: &mut OpContext) -> Reply<()> {
        Ok(())
    }

    async fn commit(&mut self) -> Reply<()> {
        self.call(Sql::Commit, &[], |_| Ok(())).await?;
        self.is_open = false;
        Ok(())
    }

    async fn roll_back(&mut self) -> Reply<()> {
        if self.is_open && !self.is_broken {
            self.call(Sql::RollBack, &[], |_| Ok(())).await?;
            self.is_open = false;
        }
        Ok(())
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

    async fn price(&mut self, item: i64) -> Reply<Option<i64>> {
        self.optional(Sql::Price, &[Param::Int(item)]).await
    }

    async fn take_stock(&mut self, taken: Demand, info: &mut String) -> Reply<()> {
        let Demand { supply, item, quantity, is_remote, district } = taken;
        let values = ints([quantity, quantity, quantity, is_remote.into(), supply, item]);
        self.change_one(Sql::TakeStock, &values, "stock").await?;
        info.clear();
        self.text(Sql::StockInfo, &ints([district, supply, item]), (info, "stock")).await
    }

    async fn insert_line(&mut self, order: Key, line: OrderLine<'_>) -> Reply<()> {
        let OrderLine { number, item, supply, quantity, cents, info } = line;
        let [w, d, o] = key(order);
        let [number, item, supply, quantity, cents] = ints([number, item, supply, quantity, cents]);
        let values = [w, d, o, number, item, supply, quantity, cents, Param::Text(info)];
        self.change_one(Sql::InsertLine, &values, "room for an order line").await
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
        let lines = self.call(Sql::ReadLines, &key(order), |_| Ok(())).await?;
        Ok(lines as i64)
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

fn ints<const N: usize>(numbers: [i64; N]) -> [Param<'static>; N] {
    numbers.map(Param::Int)
}

/// The columns of a key.
fn key(key: Key) -> [Param<'static>; 3] {
    ints([key.of.w, key.of.d, key.id])
}
