//! Rows, read in place.

use crate::column::Column;
use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::sql_type::{SqlType, Timestamp};

/// Where the value of a column lies in the body of a row; `None` is null.
pub(crate) type CellRange = Option<(u32, u32)>;

/// Finds the columns of a row, each once.
pub(crate) fn split(body: &[u8], cells: &mut Vec<CellRange>) -> Result<(), Flaw> {
    cells.clear();
    let mut fields = Fields::new(b'D', body);
    let mut at = 2;
    for _ in 0..fields.count()? {
        let value = fields.value()?;
        at += 4;
        let length = value.map_or(0, <[u8]>::len) as u32;
        cells.push(value.map(|_| (at, length)));
        at += length;
    }
    fields.end()
}

/// A row of a result. It lies in the buffer of its connection.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    pub(crate) body: &'r [u8],
    pub(crate) cells: &'r [CellRange],
    pub(crate) columns: &'r [Column],
}

/// Why a value cannot be read.
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
    /// The bytes are no value of the type.
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
        let Some(&Column { kind, .. }) = self.columns.get(column) else {
            return Err(ColumnError::Missing { column, columns: self.columns.len() });
        };
        if !T::reads(kind) {
            return Err(ColumnError::Kind { column, kind, wanted: T::NAME });
        }
        let Some(bytes) = self.bytes(column) else { return Ok(None) };
        let value = T::read(bytes).filter(|_| kind.width().is_none_or(|width| width == bytes.len()));
        value.map(Some).ok_or(ColumnError::Value { column, wanted: T::NAME })
    }
}

/// What a value is read as.
pub trait FromColumn<'r>: Sized {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether it holds every value of a type.
    fn reads(kind: SqlType) -> bool;

    /// The value in these bytes; `None` where they are none.
    fn read(bytes: &'r [u8]) -> Option<Self>;
}

impl FromColumn<'_> for bool {
    const NAME: &'static str = "boolean";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Bool
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl FromColumn<'_> for i16 {
    const NAME: &'static str = "smallint";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Int2
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(i16::from_be_bytes)
    }
}

impl FromColumn<'_> for i32 {
    const NAME: &'static str = "integer";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Int2 | SqlType::Int4)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            2 => i16::read(bytes).map(i32::from),
            _ => bytes.try_into().ok().map(i32::from_be_bytes),
        }
    }
}

impl FromColumn<'_> for i64 {
    const NAME: &'static str = "bigint";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            8 => bytes.try_into().ok().map(i64::from_be_bytes),
            _ => i32::read(bytes).map(i64::from),
        }
    }
}

impl FromColumn<'_> for f64 {
    const NAME: &'static str = "double precision";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Float8
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(f64::from_be_bytes)
    }
}

impl FromColumn<'_> for Timestamp {
    const NAME: &'static str = "timestamp";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Timestamp
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Timestamp(i64::from_be_bytes(bytes)))
    }
}

/// Text, and the values of all types that have no form of their own here.
impl<'r> FromColumn<'r> for &'r str {
    const NAME: &'static str = "text";

    fn reads(kind: SqlType) -> bool {
        matches!(kind, SqlType::Text | SqlType::Other(_))
    }

    fn read(bytes: &'r [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()
    }
}

impl<'r> FromColumn<'r> for &'r [u8] {
    const NAME: &'static str = "bytea";

    fn reads(kind: SqlType) -> bool {
        kind == SqlType::Bytea
    }

    fn read(bytes: &'r [u8]) -> Option<Self> {
        Some(bytes)
    }
}
