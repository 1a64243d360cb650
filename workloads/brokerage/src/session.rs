//! The seam to engines: one connection of one user, on which statements are executed. Calls of an engine that blocks are ready when
//! they return.

use barograph_database::sqlite::{self, Connection};
use barograph_database::{Reply, TransactionError, Transactions};
use barograph_database_engines::{MariadbSession, PostgresSession};
use barograph_postgres::{Fault, Param, SqlState};

use crate::input::{OrderInput, Request, Tick};
use crate::statements::{OnMariadb, OnPostgres, SQLITE, Sql};

/// The state of a function whose order is rolled back as planned.
const PLANNED: SqlState = SqlState(*b"BR001");

/// What a transaction without a function lacks.
const FUNCTION: &str = "function of the database";

/// A connection to the database.
pub(crate) trait Session: Transactions {
    /// Executes a statement, and calls `row` with the first numbers of each row. Returns the number of rows that it changed or
    /// returned.
    async fn rows<const P: usize, const N: usize>(
        &mut self,
        sql: Sql,
        values: [i64; P],
        row: impl FnMut([i64; N]),
    ) -> Reply<i64>;

    /// Does a whole transaction with its commit by a function of the database, and calls `row` with each number that it
    /// returns. Returns false for a planned rollback.
    async fn call_function(
        &mut self,
        request: &Request,
        ticks: &[Tick],
        row: impl FnMut(i64),
    ) -> Reply<bool> {
        let _ = (request, ticks, row);
        Err(TransactionError::missing(FUNCTION))
    }

    /// Changes rows, and returns their number.
    async fn change<const P: usize>(&mut self, sql: Sql, values: [i64; P]) -> Reply<i64> {
        self.rows(sql, values, |[]: [i64; 0]| {}).await
    }

    /// Changes exactly one row.
    async fn change_one<const P: usize>(&mut self, sql: Sql, values: [i64; P]) -> Reply<()> {
        match self.change(sql, values).await? {
            1 => Ok(()),
            _ => Err(TransactionError::missing(&format!("row for {sql:?}"))),
        }
    }

    /// The first numbers of the one row.
    async fn one<const P: usize, const N: usize>(&mut self, sql: Sql, values: [i64; P]) -> Reply<[i64; N]> {
        let mut found = None;
        self.rows(sql, values, |row| found = Some(row)).await?;
        found.ok_or_else(|| TransactionError::missing(&format!("row of {sql:?}")))
    }
}

impl Session for Connection {
    async fn rows<const P: usize, const N: usize>(
        &mut self,
        sql: Sql,
        values: [i64; P],
        mut row: impl FnMut([i64; N]),
    ) -> Reply<i64> {
        let (sql, values) = (SQLITE[sql as usize], sqlite::params_from_iter(values));
        if N == 0 {
            return Connection::change(self, sql, values).map(|rows| rows as i64);
        }
        let mut rows = 0;
        self.each(sql, values, |found| {
            let mut numbers = [0; N];
            for (at, number) in numbers.iter_mut().enumerate() {
                *number = found.get::<_, Option<i64>>(at)?.unwrap_or(0);
            }
            row(numbers);
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    }
}

impl Session for MariadbSession<OnMariadb> {
    async fn rows<const P: usize, const N: usize>(
        &mut self,
        sql: Sql,
        values: [i64; P],
        mut row: impl FnMut([i64; N]),
    ) -> Reply<i64> {
        let read = |found: &barograph_mysql::Row<'_>| {
            let mut numbers = [0; N];
            for (at, number) in numbers.iter_mut().enumerate() {
                *number = found.get_optional(at)?.unwrap_or(0);
            }
            row(numbers);
            Ok(())
        };
        let values = values.map(barograph_mysql::Param::Int);
        Ok(MariadbSession::call(self, OnMariadb(sql), &values, read).await? as i64)
    }
}

impl Session for PostgresSession<OnPostgres> {
    async fn rows<const P: usize, const N: usize>(
        &mut self,
        sql: Sql,
        values: [i64; P],
        mut row: impl FnMut([i64; N]),
    ) -> Reply<i64> {
        let read = |found: &barograph_postgres::Row<'_>| {
            let mut numbers = [0; N];
            for (at, number) in numbers.iter_mut().enumerate() {
                *number = found.get_optional(at)?.unwrap_or(0);
            }
            row(numbers);
            Ok(())
        };
        Ok(PostgresSession::call(self, OnPostgres(sql), &values.map(Param::Int), read).await? as i64)
    }

    async fn call_function(
        &mut self,
        request: &Request,
        ticks: &[Tick],
        mut row: impl FnMut(i64),
    ) -> Reply<bool> {
        let read = |found: &barograph_postgres::Row<'_>| {
            row(found.get_optional(0)?.unwrap_or(0));
            Ok(())
        };
        let done = match *request {
            Request::PlaceOrder(order) => {
                let OrderInput { account, customer, by_company, security, kind, quantity, limit, .. } = order;
                let values = [
                    account,
                    customer,
                    by_company.into(),
                    security,
                    kind.0,
                    quantity,
                    limit,
                    order.is_lifo.into(),
                    order.is_rolled_back.into(),
                    order.date,
                ];
                self.execute(OnPostgres(Sql::PlaceFunction), &values.map(Param::Int), read).await
            }
            Request::CompleteOrder(trade, date) => {
                let values = [trade, date].map(Param::Int);
                self.execute(OnPostgres(Sql::CompleteFunction), &values, read).await
            }
            Request::MarketFeed(date) => {
                let [securities, prices] =
                    [array(ticks, |tick| tick.security), array(ticks, |tick| tick.price)];
                let values = [Param::Text(&securities), Param::Text(&prices), Param::Int(date)];
                self.execute(OnPostgres(Sql::FeedFunction), &values, read).await
            }
            _ => return Err(TransactionError::missing(FUNCTION)),
        };
        match done {
            Ok(_) => Ok(true),
            Err(Fault::Server(said)) if said.state() == PLANNED => Ok(false),
            Err(fault) => Err(self.trouble(&fault)),
        }
    }
}

/// Numbers of ticks as an array of SQL.
fn array(ticks: &[Tick], number: impl Fn(&Tick) -> i64) -> String {
    let all: Vec<String> = ticks.iter().map(|tick| number(tick).to_string()).collect();
    format!("{{{}}}", all.join(","))
}
