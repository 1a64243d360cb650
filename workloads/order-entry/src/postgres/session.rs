//! The session of a user: the statements of the transactions on PostgreSQL.

use barograph_engine::OpContext;
use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use barograph_postgres::{
    Client, Connection, Fault, Param, Reply as Piece, Row, SqlState, Statement, Transaction,
};

use super::functions::Arrays;
use super::statements::{ALL, Sql, WITHOUT_FUNCTIONS};
use crate::input::{District, Input, Key};
use crate::plan::Form;
use crate::session::{
    Access, Conflict, Demand, OrderHead, OrderLine, OrderNumber, Reply, Session, TransactionError,
};
use crate::transactions::End;
use crate::user::Request;

/// A session with its prepared statements.
pub(super) struct PostgresSession {
    connection: Connection,
    form: Form,
    statements: Vec<Statement>,
    /// The lines of an order as the function takes them.
    pub(super) arrays: Arrays,
    /// The beginning of a transaction, which is sent with its first statement.
    begin: Option<Sql>,
    /// The connection has failed: the server rolls back.
    is_broken: bool,
}

impl PostgresSession {
    /// Begins a session. `number` chooses among the addresses of the server.
    pub(super) async fn open(client: &Client, form: Form, number: u32) -> Result<Self, Fault> {
        let mut connection = client.connect(number).await?;
        let known = if form == Form::Stored { ALL.len() } else { WITHOUT_FUNCTIONS };
        let statements = connection.prepare_all(&ALL.map(|(_, sql)| sql)[..known]).await?;
        let arrays = Arrays::default();
        Ok(PostgresSession { connection, form, statements, arrays, begin: None, is_broken: false })
    }

    /// Executes a statement and reads its rows. Returns the number of rows that it changed or returned.
    pub(super) async fn execute(
        &mut self,
        sql: Sql,
        values: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let mut batch = self.connection.batch();
        if let Some(begin) = self.begin.take() {
            batch.execute(self.statements[begin as usize], &[])?;
        }
        batch.execute(self.statements[sql as usize], values)?;
        let mut replies = batch.send()?;
        let (mut rows, mut wrong) = (0, None);
        while let Some(piece) = replies.next().await? {
            match piece {
                Piece::Row(row) => wrong = wrong.or(read(&row).err()),
                Piece::Done(tag) => rows = tag.rows(),
            }
        }
        wrong.map_or(Ok(rows), Err)
    }

    /// Executes a statement of a transaction.
    async fn call(
        &mut self,
        sql: Sql,
        values: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<u64> {
        self.execute(sql, values, read).await.map_err(|fault| self.trouble(&fault))
    }

    /// The error of a transaction for one of the client.
    pub(super) fn trouble(&mut self, fault: &Fault) -> TransactionError {
        self.is_broken = !matches!(fault, Fault::Server(_) | Fault::Call(_) | Fault::Column(_));
        match fault {
            Fault::Server(said) if said.state() == SqlState::SERIALIZATION_FAILURE => {
                TransactionError::Conflict(Conflict::Snapshot)
            }
            Fault::Server(said) if said.state() == SqlState::DEADLOCK => {
                TransactionError::Conflict(Conflict::Deadlock)
            }
            Fault::Server(said) if said.state() == SqlState::LOCK_NOT_AVAILABLE => {
                TransactionError::Conflict(Conflict::Busy)
            }
            fault => TransactionError::Failed { outcome: fault.outcome(), why: in_one_line(fault) },
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

impl Session for PostgresSession {
    fn is_stored(&self) -> bool {
        self.form == Form::Stored
    }

    async fn call_function(&mut self, asked: Request, input: &Input) -> Reply<End> {
        self.function(asked, input).await
    }

    async fn begin(&mut self, access: Access, _: &mut OpContext) -> Reply<()> {
        self.begin = Some(match access {
            Access::Read => Sql::BeginRead,
            Access::Write => Sql::BeginWrite,
        });
        Ok(())
    }

    /// The server answers the commit of a failed transaction with a rollback.
    async fn commit(&mut self) -> Reply<()> {
        let answer = async {
            let mut batch = self.connection.batch();
            batch.execute(self.statements[Sql::Commit as usize], &[])?;
            let mut replies = batch.send()?;
            let mut is_committed = false;
            while let Some(piece) = replies.next().await? {
                is_committed |= matches!(piece, Piece::Done(tag) if tag.is("COMMIT"));
            }
            Ok(is_committed)
        };
        match answer.await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let why = "the server rolled back where it should commit".to_owned();
                Err(TransactionError::Failed { outcome: Outcome::Refused, why })
            }
            Err(fault) => Err(self.trouble(&fault)),
        }
    }

    async fn roll_back(&mut self) -> Reply<()> {
        let is_sent = self.begin.take().is_none();
        if !is_sent || self.is_broken || self.connection.transaction() == Transaction::Idle {
            return Ok(());
        }
        self.call(Sql::RollBack, &[], |_| Ok(())).await.map(drop)
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

    async fn price(&mut self, item: i64) -> Reply<Option<i64>> {
        self.optional(Sql::Price, &[Param::Int(item)]).await
    }

    async fn take_stock(&mut self, taken: Demand, info: &mut String) -> Reply<()> {
        let Demand { supply, item, quantity, is_remote, district } = taken;
        info.clear();
        let values = ints([supply, item, quantity, is_remote.into(), district]);
        self.text(Sql::TakeStock, &values, (info, "stock")).await
    }

    async fn insert_line(&mut self, order: Key, line: OrderLine<'_>) -> Reply<()> {
        let OrderLine { number, item, supply, quantity, cents, info } = line;
        let [w, d, o] = key(order);
        let [number, item, supply, quantity, cents] = ints([number, item, supply, quantity, cents]);
        let values = [w, d, o, number, item, supply, quantity, cents, Param::Text(info)];
        self.change_one(Sql::InsertLine, &values, "room for an order line").await
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
        let lines = self.call(Sql::ReadLines, &key(order), |_| Ok(())).await?;
        Ok(lines as i64)
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

pub(super) fn ints<const N: usize>(numbers: [i64; N]) -> [Param<'static>; N] {
    numbers.map(Param::Int)
}

/// The columns of a key.
fn key(key: Key) -> [Param<'static>; 3] {
    ints([key.of.w, key.of.d, key.id])
}
