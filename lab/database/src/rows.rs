//! Tables and their loaded rows.

/// A table: name, columns and key.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: &'static str,
    /// Its columns in order, each with the letter of its type ([`ColumnType`]), as in `o_id n, o_net i`.
    pub columns: &'static str,
    /// The number of leading columns that are its key; 0 for a table without a key.
    pub key: usize,
    /// Names of the columns that may be null.
    pub nullable: &'static [&'static str],
}

impl TableSpec {
    /// Its columns.
    pub fn columns(self) -> impl Iterator<Item = Column> {
        self.columns.split(", ").map(move |column| {
            let (name, letter) = column.split_once(' ').unwrap_or((column, "t"));
            let kind = ColumnType::of(letter).expect("a table is written with the letters of types");
            Column { name, kind, is_nullable: self.nullable.contains(&name) }
        })
    }

    /// The names of its columns.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.columns().map(|column| column.name)
    }

    /// The columns of its key, joined by commas; `None` for a table without a key.
    #[must_use]
    pub fn key_columns(self) -> Option<String> {
        let key: Vec<&str> = self.names().take(self.key).collect();
        (!key.is_empty()).then(|| key.join(", "))
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// It may be null.
    pub is_nullable: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// `i`: a whole number of 32 bits.
    Int,
    /// `b`: a whole number of 64 bits.
    BigInt,
    /// `n`: a whole number of 32 bits, which the database gives to new rows.
    Serial,
    /// `t`: a text of 50 characters at the most.
    Text,
    /// `l`: a text of 500 characters at the most.
    LongText,
}

impl ColumnType {
    fn of(letter: &str) -> Option<Self> {
        Some(match letter {
            "i" => ColumnType::Int,
            "b" => ColumnType::BigInt,
            "n" => ColumnType::Serial,
            "t" => ColumnType::Text,
            "l" => ColumnType::LongText,
            _ => return None,
        })
    }

    /// Whether its values are texts.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, ColumnType::Text | ColumnType::LongText)
    }
}

/// One of the tables of a workload.
pub trait Table: Copy + Eq + Send + Sync + 'static {
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

/// Values of a batch: some hundred kilobytes.
const BATCH: usize = 20_000;

/// Numbers of a span: some megabytes.
const SPAN: i64 = 20_000;

/// Rows of a table whose numbers follow one another, where each row is a function of its number.
#[derive(Clone, Copy, Debug)]
pub struct Span<T> {
    table: T,
    first: i64,
    last: i64,
}

impl<T: Table + Sync> Span<T> {
    /// All tables in spans. `last` is the last number of a table; the first is 1.
    pub fn all(last: impl Fn(T) -> i64 + Send) -> impl Iterator<Item = Self> + Send {
        T::all().iter().flat_map(move |table| {
            let last = last(*table);
            let of = move |first: i64| Span { table: *table, first, last: last.min(first + SPAN - 1) };
            (1..=last).step_by(SPAN as usize).map(of)
        })
    }

    /// Makes its rows in batches. `rows` appends those of a number. Stops and returns false as soon as `take` returns false.
    pub fn batches(
        self,
        mut rows: impl FnMut(T, i64, &mut Vec<Value>),
        take: &mut dyn FnMut(Batch<T>) -> bool,
    ) -> bool {
        let Span { table, first, last } = self;
        let columns = table.spec().names().count();
        let mut values = Vec::new();
        (first..=last).all(|number| {
            rows(table, number, &mut values);
            if values.is_empty() || values.len() < BATCH && number < last {
                return true;
            }
            let rows = (values.len() / columns) as u64;
            take(Batch { table, values: std::mem::take(&mut values), rows })
        })
    }
}

/// The loaded contents of a database, as a function of its size and seed.
pub trait Contents: Sync {
    /// The tables.
    type Table: Table;

    /// Some rows of a table, which can be made without the others.
    type Piece: Send;

    /// Marks SQLite files of the workload in their header.
    const APPLICATION_ID: i32;

    /// The kind of database, as in `an Order-Entry database`.
    const KIND: &'static str;

    /// Secondary indices.
    const INDICES: Indices;

    /// The tables, in the order in which they are filled. A database without any is used as it is: it is neither filled nor
    /// copied.
    fn tables(&self) -> Vec<Self::Table> {
        Self::Table::all().to_vec()
    }

    /// Secondary indices of these contents.
    fn indices(&self) -> Indices {
        Self::INDICES
    }

    /// Size and seed of the rows and version of the workload, in words. Equal only for equal rows.
    fn stamp(&self) -> String;

    /// Rows of a table, exactly or on average.
    fn expected_rows(&self, table: Self::Table) -> u64;

    /// All pieces, in the order in which they are filled.
    fn pieces(&self) -> impl Iterator<Item = Self::Piece> + Send;

    /// Makes the rows of a piece in batches. Stops and returns false as soon as `take` returns false.
    fn piece(&self, piece: Self::Piece, take: &mut dyn FnMut(Batch<Self::Table>) -> bool) -> bool;
}

/// Statements after the last row that make secondary indices.
#[derive(Clone, Copy, Debug)]
pub struct Indices {
    /// Those of every engine.
    pub all: &'static [&'static str],
    /// Those of SQLite only.
    pub sqlite: &'static [&'static str],
    /// Those of PostgreSQL only.
    pub postgres: &'static [&'static str],
    /// Those of MariaDB only.
    pub mariadb: &'static [&'static str],
}
