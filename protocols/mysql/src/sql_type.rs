//! Types of columns.

use std::fmt;

/// The character set of bytes.
const BINARY: u16 = 63;

/// Flag of a column without negative values.
const UNSIGNED: u16 = 32;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// `tinyint` to `bigint`, `year`.
    Int {
        /// Width of a value in bytes.
        bytes: u8,
        /// Whether all values are 0 or above.
        unsigned: bool,
    },
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `decimal`: a text.
    Decimal,
    /// `char`, `varchar`, `text`, `enum`, `set`, `json`.
    Text,
    /// `binary`, `varbinary`, `blob`, `bit`.
    Bytes,
    /// `date`, `datetime`, `timestamp`.
    Timestamp,
    /// `time`.
    Time,
}

/// The form of a value in a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Bytes of every value.
    Fixed(usize),
    /// A byte with the length of the value stands before it.
    Short,
    /// A number of one or more bytes stands before it.
    Counted,
}

impl SqlType {
    /// The type of a column with these fields in its description.
    pub(crate) fn of(code: u8, flags: u16, charset: u16) -> Self {
        let int = |bytes| SqlType::Int { bytes, unsigned: flags & UNSIGNED != 0 };
        match code {
            1 => int(1),
            2 | 13 => int(2),
            3 | 9 => int(4),
            8 => int(8),
            4 => SqlType::Float,
            5 => SqlType::Double,
            0 | 246 => SqlType::Decimal,
            7 | 10 | 12 => SqlType::Timestamp,
            11 => SqlType::Time,
            // JSON has the character set of bytes in MySQL.
            245 => SqlType::Text,
            15 | 247..=254 if charset != BINARY => SqlType::Text,
            _ => SqlType::Bytes,
        }
    }

    /// The form of its values in a binary row.
    pub(crate) fn form(self) -> Form {
        match self {
            SqlType::Int { bytes, .. } => Form::Fixed(bytes.into()),
            SqlType::Float => Form::Fixed(4),
            SqlType::Double => Form::Fixed(8),
            SqlType::Timestamp | SqlType::Time => Form::Short,
            SqlType::Decimal | SqlType::Text | SqlType::Bytes => Form::Counted,
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SqlType::Int { bytes: 1, .. } => "tinyint",
            SqlType::Int { bytes: 2, .. } => "smallint",
            SqlType::Int { bytes: 4, .. } => "int",
            SqlType::Int { .. } => "bigint",
            SqlType::Float => "float",
            SqlType::Double => "double",
            SqlType::Decimal => "decimal",
            SqlType::Text => "text",
            SqlType::Bytes => "bytes",
            SqlType::Timestamp => "datetime",
            SqlType::Time => "time",
        })?;
        match self {
            SqlType::Int { unsigned: true, .. } => f.write_str(" unsigned"),
            _ => Ok(()),
        }
    }
}
