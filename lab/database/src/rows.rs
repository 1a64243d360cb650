//! Tables and their loaded rows.

/// A table: name, columns and key.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: &'static str,
    /// Its columns in order, each with its type: `i` for a whole number, `t` for a text.
    pub columns: &'static str,
    /// The number of leading columns that are its key; 0 for a table without a key.
    pub key: usize,
    /// Names of the columns that may be null.
    pub nullable: &'static [&'static str],
}

impl TableSpec {
    /// The names of its columns.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.columns.split(", ").map(|column| column.split_once(' ').map_or(column, |(name, _)| name))
    }
}

/// One of the tables of a workload.
pub trait Table: Copy + Eq + Send + 'static {
    /// All tables, in the order in which they are filled.
    fn all() -> &'static [Self];

    /// Name, columns and key.
    fn spec(self) -> TableSpec;
}

/// The value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
    /// No value.
    Null,
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

/// Appends the values of a row to a list of values.
#[macro_export]
macro_rules! row {
    ($rows:expr, $($value:expr),+ $(,)?) => {
        $rows.extend([$($crate::Value::from($value)),+])
    };
}

/// Some rows of a table, one after the other.
#[derive(Debug)]
pub struct Batch<T> {
    /// The table.
    pub table: T,
    /// The values of all rows.
    pub values: Vec<Value>,
    /// The number of rows.
    pub rows: u64,
}

/// The loaded contents of a database, as a function of its size and seed.
pub trait Contents: Sync {
    /// The tables.
    type Table: Table;

    /// Marks SQLite files of the workload in their header.
    const APPLICATION_ID: i32;

    /// The kind of database, as in `an Order-Entry database`.
    const KIND: &'static str;

    /// Statements after the last row: secondary indices.
    const INDICES: &'static str;

    /// Size and seed of the rows and version of the workload, in words. Equal only for equal rows.
    fn stamp(&self) -> String;

    /// Makes all rows in batches, table by table. Stops and returns false as soon as `take` returns false.
    fn batches(&self, take: &mut dyn FnMut(Batch<Self::Table>) -> bool) -> bool;
}
