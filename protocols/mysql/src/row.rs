//! Rows, read in place.

use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::sql_type::{Form, SqlType};
use crate::timestamp::Timestamp;

/// The name of a row in flaws.
const ROW: &str = "a row";

/// Place of the value of a column in the body of a row: begin and length; `None` is null.
pub(crate) type Cell = Option<(u32, u32)>;

/// Finds the columns of a row of text.
pub(crate) fn split_text(body: &[u8], kinds: &[SqlType], cells: &mut Vec<Cell>) -> Result<(), Flaw> {
    cells.clear();
    let mut fields = Fields::new(ROW, body);
    for _ in kinds {
        let value = fields.optional()?;
        cells.push(value.map(|value| cell(body, &fields, value)));
    }
    fields.end()
}

/// Finds the columns of a binary row.
pub(crate) fn split_binary(body: &[u8], kinds: &[SqlType], cells: &mut Vec<Cell>) -> Result<(), Flaw> {
    cells.clear();
    let mut fields = Fields::new(ROW, body);
    match fields.byte()? {
        0 => {}
        first => return Err(Flaw::Order { first, to: "a prepared statement" }),
    }
    // A bit for each column; the first two bits are unused.
    let nulls = fields.bytes((kinds.len() + 2).div_ceil(8))?;
    for (kind, bit) in kinds.iter().zip(2..) {
        if nulls[bit / 8] >> (bit % 8) & 1 != 0 {
            cells.push(None);
            continue;
        }
        let value = match kind.form() {
            Form::Fixed(length) => fields.bytes(length)?,
            Form::Short => {
                let length = fields.byte()?;
                fields.bytes(length.into())?
            }
            Form::Counted => fields.counted()?,
        };
        cells.push(Some(cell(body, &fields, value)));
    }
    fields.end()
}

/// The place of a value that was read last.
fn cell(body: &[u8], fields: &Fields<'_>, value: &[u8]) -> (u32, u32) {
    ((body.len() - fields.rest().len() - value.len()) as u32, value.len() as u32)
}

/// A row of a result. It lies in the buffer of its connection.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    pub(crate) body: &'r [u8],
    pub(crate) cells: &'r [Cell],
    pub(crate) kinds: &'r [SqlType],
}

/// The reason why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// The row has fewer columns.
    #[error("column {column} of a row of {columns}")]
    Missing {
        /// Number of the column, from 0.
        column: usize,
        /// Columns of the row.
        columns: usize,
    },
    /// The value is null.
    #[error("column {column} is null")]
    Null {
        /// Number of the column, from 0.
        column: usize,
    },
    /// The column has another type.
    #[error("column {column} is {kind}, and is read as {wanted}")]
    Kind {
        /// Number of the column, from 0.
        column: usize,
        /// Its type.
        kind: SqlType,
        /// The type that is asked for.
        wanted: &'static str,
    },
    /// The value is none of the type that is asked for.
    #[error("column {column} has a value that is no {wanted}")]
    Value {
        /// Number of the column, from 0.
        column: usize,
        /// The type that is asked for.
        wanted: &'static str,
    },
}

impl<'r> Row<'r> {
    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it has no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Type of a column; `None` where there is no such column.
    #[must_use]
    pub fn kind(&self, column: usize) -> Option<SqlType> {
        self.kinds.get(column).copied()
    }

    /// The bytes of a value as the server sent them; `None` where it is null or there is no such column.
    #[must_use]
    pub fn bytes(&self, column: usize) -> Option<&'r [u8]> {
        let (at, length) = (*self.cells.get(column)?)?;
        self.body.get(at as usize..(at + length) as usize)
    }

    /// A value that is not null.
    ///
    /// # Errors
    /// When it is null, of another type, or there is no such column.
    pub fn get<T: FromColumn<'r>>(&self, column: usize) -> Result<T, ColumnError> {
        self.get_optional(column)?.ok_or(ColumnError::Null { column })
    }

    /// A value; `None` where it is null.
    ///
    /// # Errors
    /// When it is of another type, or there is no such column.
    pub fn get_optional<T: FromColumn<'r>>(&self, column: usize) -> Result<Option<T>, ColumnError> {
        let Some(kind) = self.kind(column) else {
            return Err(ColumnError::Missing { column, columns: self.kinds.len() });
        };
        if !T::reads(kind) {
            return Err(ColumnError::Kind { column, kind, wanted: T::NAME });
        }
        let Some(bytes) = self.bytes(column) else { return Ok(None) };
        T::read(kind, bytes).map(Some).ok_or(ColumnError::Value { column, wanted: T::NAME })
    }
}

/// A type as which values are read.
pub trait FromColumn<'r>: Sized {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether it reads columns of a type.
    fn reads(kind: SqlType) -> bool;

    /// The value in these bytes; `None` where the type does not hold it.
    fn read(kind: SqlType, bytes: &'r [u8]) -> Option<Self>;
}

/// The value of a whole number.
fn integer(kind: SqlType, bytes: &[u8]) -> Option<i128> {
    let SqlType::Int { unsigned, .. } = kind else { return None };
    let mut all = [0; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let above = 64 - 8 * bytes.len();
    let value = u64::from_le_bytes(all);
    Some(if unsigned { value.into() } else { (((value << above) as i64) >> above).into() })
}

/// Whole numbers that an `i32` holds.
impl FromColumn<'_> for i32 {
    const NAME: &'static str = "int";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Int { .. })
    }

    fn read(kind: SqlType, bytes: &[u8]) -> Option<Self> {
        integer(kind, bytes)?.try_into().ok()
    }
}

/// Whole numbers that an `i64` holds.
impl FromColumn<'_> for i64 {
    const NAME: &'static str = "bigint";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Int { .. })
    }

    fn read(kind: SqlType, bytes: &[u8]) -> Option<Self> {
        integer(kind, bytes)?.try_into().ok()
    }
}

/// Whole numbers that a `u64` holds.
impl FromColumn<'_> for u64 {
    const NAME: &'static str = "bigint unsigned";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Int { .. })
    }

    fn read(kind: SqlType, bytes: &[u8]) -> Option<Self> {
        integer(kind, bytes)?.try_into().ok()
    }
}

impl FromColumn<'_> for f64 {
    const NAME: &'static str = "double";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Float | SqlType::Double)
    }

    fn read(_: SqlType, bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            4 => bytes.try_into().ok().map(f32::from_le_bytes).map(f64::from),
            _ => bytes.try_into().ok().map(f64::from_le_bytes),
        }
    }
}

impl FromColumn<'_> for Timestamp {
    const NAME: &'static str = "datetime";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Timestamp
    }

    fn read(_: SqlType, bytes: &[u8]) -> Option<Self> {
        Timestamp::read(bytes)
    }
}

/// Text, decimal numbers, and all values of a query without parameters.
impl<'r> FromColumn<'r> for &'r str {
    const NAME: &'static str = "text";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Text | SqlType::Decimal)
    }

    fn read(_: SqlType, bytes: &'r [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()
    }
}

impl<'r> FromColumn<'r> for &'r [u8] {
    const NAME: &'static str = "bytes";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Bytes
    }

    fn read(_: SqlType, bytes: &'r [u8]) -> Option<Self> {
        Some(bytes)
    }
}
