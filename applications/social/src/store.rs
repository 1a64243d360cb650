//! The seam to the store of the rows: statements, values and rows.

use std::borrow::Cow;
use std::error::Error;
use std::path::Path;

use crate::schema::{self, Dialect};
use crate::sessions::Server;
use crate::sqlite::Sqlite;

/// A value of a statement or a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
    /// Of a statement: the number of the row that the first statement of the change has added.
    New,
}

impl Value {
    /// The value for a store, with the number of the new row.
    pub(crate) fn with(&self, new: i64) -> Value {
        match self {
            Value::New => Value::Int(new),
            other => other.clone(),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Int(number as i64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

/// Values of a statement, in the order of its marks.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::store::Value::from($value)),*] };
}
pub(crate) use values;

/// A statement with `?` for each of its values.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) -> Self {
        Statement { sql: sql.into(), values: values.into() }
    }

    /// Adds several rows. `begin` is the statement up to the word VALUES, of `columns` columns.
    pub(crate) fn rows(begin: &str, columns: usize, values: Vec<Value>) -> Self {
        let row = format!("({})", vec!["?"; columns].join(","));
        let rows = vec![row; values.len() / columns.max(1)].join(",");
        Statement::new(format!("{begin} VALUES {rows}"), values)
    }
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The number in a column; 0 if there is none.
    pub(crate) fn int(&self, column: usize) -> i64 {
        match self.0.get(column) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        }
    }

    /// The text in a column; empty if there is none.
    pub(crate) fn text(&self, column: usize) -> &str {
        match self.0.get(column) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }
}

/// Result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The number that the first statement has returned; 0 if it returned none.
    pub(crate) new: i64,
    /// Rows that the last statement has changed.
    pub(crate) rows: u64,
}

/// Failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A unique value is taken.
    #[error("use a value that is taken")]
    Taken,
    /// Too many changes wait.
    #[error("wait behind too many changes")]
    Full,
    /// The address is none of a store that is known.
    #[error(
        "use an address that is none of postgres://USER@HOST:PORT/DATABASE, mysql://USER@HOST:PORT/DATABASE"
    )]
    Address,
    /// The store refused.
    #[error("use the store")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

/// The store of the rows.
pub(crate) enum Store {
    Sqlite(Sqlite),
    Server(Server),
}

impl Store {
    /// Opens the store: the file, or the server at an address as `postgres://USER@HOST:PORT/DATABASE` or
    /// `mysql://USER@HOST:PORT/DATABASE`, whose first session begins with the first statement.
    pub(crate) fn open(server: Option<&str>, file: &Path, sessions: usize) -> Result<Self, StoreError> {
        Ok(match server {
            Some(url) => Store::Server(Server::new(url, sessions)?),
            None => Store::Sqlite(Sqlite::open(file, sessions)?),
        })
    }

    /// The words that differ by product.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Store::Sqlite(_) => Dialect::Sqlite,
            Store::Server(server) => server.dialect(),
        }
    }

    /// Reads rows.
    pub(crate) async fn read(&self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        match self {
            Store::Sqlite(sqlite) => sqlite.read(sql, values),
            Store::Server(server) => server.read(sql, values).await,
        }
    }

    /// Carries out statements in one transaction.
    pub(crate) async fn change(&self, statements: Vec<Statement>) -> Result<Changed, StoreError> {
        match self {
            Store::Sqlite(sqlite) => sqlite.change(statements).await,
            Store::Server(server) => server.change(&statements).await,
        }
    }

    /// Makes the tables, in the place of those that a fill has not finished.
    pub(crate) async fn define(&self) -> Result<(), StoreError> {
        // Tables of others are not removed: those of a site are known by this one.
        if self.read("SELECT name FROM site", &[]).await.is_ok() {
            for table in schema::TABLES {
                self.change(vec![Statement::new(format!("DROP TABLE IF EXISTS {table}"), Vec::new())])
                    .await?;
            }
        }
        for sql in schema::STATEMENTS {
            self.change(vec![Statement::new(self.dialect().of(sql), Vec::new())]).await?;
        }
        Ok(())
    }
}
