//! Statements with their values, and rows of answers.

use std::borrow::Cow;

use barograph_auction_store::StoreError;

use crate::fault::UnexpectedValue;

/// A value for a mark in a statement; see [`crate::text`] for the marks.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
    Null,
    /// For the mark `?in`: any of these.
    Ints(Vec<i64>),
    /// For the mark `?rows`: rows of a table, column by column, all columns of the same length.
    Columns(Vec<Vec<Option<i64>>>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<Vec<i64>> for Value {
    fn from(value: Vec<i64>) -> Self {
        Value::Ints(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// A statement in the notation of [`crate::text`], with a value for each mark. It has no `Debug`, because
/// tokens and hashes of passwords are among its values.
#[derive(Clone)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Self {
        Statement { sql: sql.into(), values }
    }

    /// A statement without marks.
    pub(crate) fn plain(sql: &'static str) -> Self {
        Statement { sql: Cow::Borrowed(sql), values: Vec::new() }
    }
}

/// The values of a statement, in the order of its marks.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;

/// Answer to a statement.
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    /// Rows found by a change, even if their values stayed.
    pub(crate) found: u64,
}

/// A row of its driver, so that nothing is copied before it is needed.
pub(crate) enum Row {
    Postgres(tokio_postgres::Row),
    Maria(mysql_async::Row),
}

impl Row {
    /// The whole number in a column.
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.number(column)?.ok_or_else(|| self.strange(column))
    }

    /// The whole number in a column that may be null.
    pub(crate) fn number(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Row::Postgres(row) => row.try_get(column).map_err(|_| self.strange(column)),
            Row::Maria(row) => {
                let value: Option<Result<Option<i64>, _>> = row.get_opt(column);
                value.and_then(Result::ok).ok_or_else(|| self.strange(column))
            }
        }
    }

    /// The text in a column.
    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.words(column)?.ok_or_else(|| self.strange(column))
    }

    /// The text in a column that may be null.
    pub(crate) fn words(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self {
            Row::Postgres(row) => row.try_get(column).map_err(|_| self.strange(column)),
            Row::Maria(row) => match row.as_ref(column) {
                Some(mysql_async::Value::Bytes(bytes)) => std::str::from_utf8(bytes)
                    .map(|text| Some(text.to_owned()))
                    .map_err(|_| self.strange(column)),
                Some(mysql_async::Value::NULL) => Ok(None),
                _ => Err(self.strange(column)),
            },
        }
    }

    /// The error for a value of the wrong kind in this column.
    pub(crate) fn strange(&self, column: usize) -> StoreError {
        let store = match self {
            Row::Postgres(_) => crate::postgres::STORE,
            Row::Maria(_) => crate::maria::STORE,
        };
        StoreError::Refused {
            store,
            what: "give a value of the kind expected",
            source: Box::new(UnexpectedValue { column }),
        }
    }
}
