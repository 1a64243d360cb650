//! A connection to MariaDB or MySQL. A single statement is prepared; several are sent as one text in one
//! packet, with their values written out: numbers as they are, texts as hexadecimal digits.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Params, QueryResult};

use crate::fault::{Fault, StoreMessage};
use crate::link::OPEN_SECONDS;
use crate::sheet::{Cell, Sheet};
use crate::text::{Flavour, PlaceholderStyle, literal, translate};
use crate::value::{Answer, Row, Statement, Value};

/// The name of the store in errors.
pub(crate) const STORE: &str = "MariaDB";

/// Prepared statements kept by a connection; as for PostgreSQL.
const PREPARED: usize = 256;

/// Bytes of one INSERT of many rows: longer ones are not faster, and it is far below the smallest
/// `max_allowed_packet` in use, which is 4 MiB.
const INSERT_BYTES: usize = 1024 * 1024;

/// First statement of every connection. Reading committed data, as in PostgreSQL, keeps gaps between rows
/// free of locks.
const GREETING: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                        SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'";

/// One connection.
pub(crate) struct Link {
    conn: Conn,
    flavour: Flavour,
}

/// Parses an address. The error does not show it, since it may hold a password.
pub(crate) fn read_url(url: &str) -> Result<Opts, StoreMessage> {
    let rest = url.strip_prefix("mariadb://").or_else(|| url.strip_prefix("mysql://")).unwrap_or(url);
    let opts = Opts::from_url(&format!("mysql://{rest}")).map_err(|_| {
        StoreMessage("the address is not a mysql:// or mariadb:// URL that can be read".to_owned())
    })?;
    if opts.db_name().is_none_or(str::is_empty) {
        return Err(StoreMessage("the address does not name a database".to_owned()));
    }
    let built = OptsBuilder::from_opts(opts)
        .prefer_socket(false)
        // A change counts the rows it finds, even if their values stay, as in PostgreSQL.
        .client_found_rows(true)
        .stmt_cache_size(PREPARED);
    Ok(built.into())
}

impl Link {
    pub(crate) async fn connect(opts: &Opts) -> Result<Self, Fault> {
        let mut conn = Conn::new(opts.clone()).await.map_err(sort)?;
        conn.query_drop(GREETING).await.map_err(sort)?;
        let version: Option<String> = conn.query_first("SELECT VERSION()").await.map_err(sort)?;
        let maria = version.is_some_and(|version| version.contains("MariaDB"));
        if maria {
            // MySQL lacks this setting: there a stopped owner holds its locks until its connection breaks.
            let sql = format!("SET SESSION idle_transaction_timeout = {OPEN_SECONDS}");
            conn.query_drop(sql).await.map_err(sort)?;
        }
        Ok(Link { conn, flavour: if maria { Flavour::MariaDb } else { Flavour::MySql } })
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Runs statements in their order, in one packet; after an error the rest is skipped.
    pub(crate) async fn run(&mut self, statements: &[&Statement]) -> Result<Vec<Answer>, Fault> {
        if let [one] = statements
            && let Some(values) = plain(&one.values)
        {
            let sql = translate(&one.sql, &one.values, (self.flavour, PlaceholderStyle::Kept));
            let mut result = self.conn.exec_iter(sql, values).await.map_err(sort)?;
            return answers(&mut result, 1).await;
        }
        let mut text = String::new();
        for statement in statements {
            if !text.is_empty() {
                text.push(';');
            }
            text.push_str(&translate(
                &statement.sql,
                &statement.values,
                (self.flavour, PlaceholderStyle::WrittenOut),
            ));
        }
        let mut result = self.conn.query_iter(text).await.map_err(sort)?;
        answers(&mut result, statements.len()).await
    }

    /// Runs statements without values, separated by semicolons.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), Fault> {
        let sql = translate(sql, &[], (self.flavour, PlaceholderStyle::WrittenOut));
        self.conn.query_drop(sql).await.map_err(sort)
    }

    /// Loads rows of a table by INSERTs of many rows each.
    pub(crate) async fn load<S: Sheet>(&mut self, rows: &[S]) -> Result<(), Fault> {
        let begin = format!("INSERT INTO {} ({}) VALUES ", S::TABLE, S::COLUMNS.join(", "));
        let mut text = String::with_capacity(INSERT_BYTES + 16 * 1024);
        for row in rows {
            text.push_str(if text.is_empty() { &begin } else { "," });
            put_row(&mut text, &row.cells(self.flavour));
            if text.len() >= INSERT_BYTES {
                self.conn.query_drop(text.as_str()).await.map_err(sort)?;
                text.clear();
            }
        }
        if !text.is_empty() {
            self.conn.query_drop(text.as_str()).await.map_err(sort)?;
        }
        Ok(())
    }
}

fn put_row(out: &mut String, cells: &[Cell<'_>]) {
    let mut before = '(';
    for cell in cells {
        out.push(before);
        before = ',';
        match cell {
            Cell::Null => out.push_str("NULL"),
            Cell::Int(number) => out.push_str(&number.to_string()),
            Cell::Text(text) => literal(out, text),
        }
    }
    out.push(')');
}

/// The values of a prepared statement; `None` with a list among them, whose length changes the text.
fn plain(values: &[Value]) -> Option<Params> {
    let converted: Option<Vec<mysql_async::Value>> = values
        .iter()
        .map(|value| match value {
            Value::Int(number) => Some(mysql_async::Value::Int(*number)),
            Value::Text(text) => Some(mysql_async::Value::Bytes(text.clone().into_bytes())),
            Value::Null => Some(mysql_async::Value::NULL),
            Value::Ints(_) | Value::Columns(_) => None,
        })
        .collect();
    let converted = converted?;
    Some(if converted.is_empty() { Params::Empty } else { Params::Positional(converted) })
}

async fn answers<P: mysql_async::prelude::Protocol>(
    result: &mut QueryResult<'_, '_, P>,
    statements: usize,
) -> Result<Vec<Answer>, Fault> {
    let mut answers = Vec::with_capacity(statements);
    for _ in 0..statements {
        // Reading to the end of an answer moves on to the next one, so the count is taken first.
        let found = result.affected_rows();
        let mut rows = Vec::new();
        while let Some(row) = result.next().await.map_err(sort)? {
            rows.push(Row::Maria(row));
        }
        answers.push(Answer { rows, found });
    }
    Ok(answers)
}

fn sort(error: mysql_async::Error) -> Fault {
    let mysql_async::Error::Server(server) = &error else { return Fault::Lost(Box::new(error)) };
    match server.code {
        // A duplicate key.
        1062 => Fault::Conflict,
        // A deadlock, a wait for a lock that took too long, a row that changed since it was read, a deadlock at the lock
        // of AUTO_INCREMENT.
        1213 | 1205 | 1020 | 1467 => Fault::Again(Box::new(error)),
        // Too many connections, no memory, a full disk, read only for now, shutting down, killed, broken,
        // interrupted: an operator repairs them while the application waits.
        1021
        | 1040
        | 1041
        | 1047
        | 1290
        | 1836
        | 1053
        | 1077..=1081
        | 1152..=1161
        | 1203
        | 1317
        | 1927
        | 4031 => Fault::Lost(Box::new(error)),
        _ => Fault::Refused(Box::new(error)),
    }
}
