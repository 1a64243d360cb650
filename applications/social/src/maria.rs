//! A session of MariaDB.

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder, Params};

use crate::sessions::{Fault, PREPARED, lost};
use crate::store::{Changed, Row, Statement, Value};

/// First statement of a session. Reading committed data, as in PostgreSQL, keeps gaps between rows free of locks.
const GREETING: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                        SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'";

/// The settings of an address; `None` for one that cannot be read, or names no database.
pub(crate) fn opts(url: &str) -> Option<Opts> {
    let rest = url.split_once("://")?.1;
    let opts = Opts::from_url(&format!("mysql://{rest}")).ok()?;
    opts.db_name().filter(|name| !name.is_empty())?;
    Some(
        OptsBuilder::from_opts(opts)
            .prefer_socket(false)
            .client_found_rows(true)
            .stmt_cache_size(PREPARED)
            .into(),
    )
}

/// The session.
pub(crate) struct MariaSession(Conn);

impl MariaSession {
    pub(crate) async fn connect(opts: &Opts) -> Result<Self, Fault> {
        let mut conn = Conn::new(opts.clone()).await.map_err(sort)?;
        conn.query_drop(GREETING).await.map_err(sort)?;
        Ok(MariaSession(conn))
    }

    pub(crate) async fn read(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        self.ask(sql, values).await.map(|(rows, _)| rows)
    }

    /// Returns rows, and the number of rows changed.
    async fn ask(&mut self, sql: &str, values: &[Value]) -> Result<(Vec<Row>, u64), Fault> {
        let mut result = self.0.exec_iter(sql, parameters(values)).await.map_err(sort)?;
        // Reading to the end of an answer moves on to the next one, so the count is taken first.
        let changed = result.affected_rows();
        let rows: Vec<mysql_async::Row> = result.collect().await.map_err(sort)?;
        Ok((rows.into_iter().map(row).collect(), changed))
    }

    pub(crate) async fn change(&mut self, statements: &[Statement]) -> Result<Changed, Fault> {
        let is_one = statements.len() == 1;
        if !is_one {
            self.0.query_drop("BEGIN").await.map_err(sort)?;
        }
        let mut changed = Changed::default();
        for Statement { sql, values } in statements {
            let values: Vec<Value> = values.iter().map(|value| value.with(changed.new)).collect();
            let (rows, count) = self.ask(sql, &values).await?;
            changed = match rows.first() {
                Some(row) => Changed { new: row.int(0), rows: rows.len() as u64 },
                None => Changed { rows: count, ..changed },
            };
        }
        if !is_one {
            self.0.query_drop("COMMIT").await.map_err(sort)?;
        }
        Ok(changed)
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), Fault> {
        self.0.query_drop("ROLLBACK").await.map_err(sort)
    }
}

fn parameters(values: &[Value]) -> Params {
    let value = |value: &Value| match value {
        Value::Int(number) => mysql_async::Value::Int(*number),
        Value::Text(text) => mysql_async::Value::Bytes(text.clone().into_bytes()),
        Value::New => mysql_async::Value::NULL,
    };
    if values.is_empty() { Params::Empty } else { Params::Positional(values.iter().map(value).collect()) }
}

fn row(row: mysql_async::Row) -> Row {
    let value = |value| match value {
        mysql_async::Value::Int(number) => Value::Int(number),
        mysql_async::Value::UInt(number) => Value::from(number),
        mysql_async::Value::Bytes(bytes) => Value::Text(String::from_utf8_lossy(&bytes).into_owned()),
        _ => Value::Int(0),
    };
    Row(row.unwrap().into_iter().map(value).collect())
}

fn sort(error: mysql_async::Error) -> Fault {
    let mysql_async::Error::Server(server) = &error else { return lost(error) };
    match server.code {
        // A duplicate key.
        1062 => Fault::Taken,
        // A deadlock, a wait for a lock that took too long, a row that changed since it was read, a deadlock at the lock
        // of AUTO_INCREMENT.
        1213 | 1205 | 1020 | 1467 => Fault::Undone(error.into()),
        // Too many connections, shutting down, killed, interrupted.
        1040 | 1053 | 1152..=1161 | 1317 | 1927 => lost(error),
        _ => Fault::Refused(error.into()),
    }
}
