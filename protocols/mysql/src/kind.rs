//! Types of columns.

use std::fmt;

/// The character set of bytes.
const BINARY: u16 = 63;

/// Flag of a column without negative values.
const UNSIGNED: u16 = 32;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// The type of a column with these fields in its description.
    pub(crate) fn of(code: u8, flags: u16, charset: u16) -> Self {
        let int = |bytes| Kind::Int { bytes, unsigned: flags & UNSIGNED != 0 };
        match code {
            1 => int(1),
            2 | 13 => int(2),
            3 | 9 => int(4),
            8 => int(8),
            4 => Kind::Float,
            5 => Kind::Double,
            0 | 246 => Kind::Decimal,
            7 | 10 | 12 => Kind::Timestamp,
            11 => Kind::Time,
            // JSON has the character set of bytes in MySQL.
            245 => Kind::Text,
            15 | 247..=254 if charset != BINARY => Kind::Text,
            _ => Kind::Bytes,
        }
    }

    /// The form of its values in a binary row.
    pub(crate) fn form(self) -> Form {
        match self {
            Kind::Int { bytes, .. } => Form::Fixed(bytes.into()),
            Kind::Float => Form::Fixed(4),
            Kind::Double => Form::Fixed(8),
            Kind::Timestamp | Kind::Time => Form::Short,
            Kind::Decimal | Kind::Text | Kind::Bytes => Form::Counted,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Int { bytes: 1, .. } => "tinyint",
            Kind::Int { bytes: 2, .. } => "smallint",
            Kind::Int { bytes: 4, .. } => "int",
            Kind::Int { .. } => "bigint",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Decimal => "decimal",
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::Timestamp => "datetime",
            Kind::Time => "time",
        })?;
        match self {
            Kind::Int { unsigned: true, .. } => f.write_str(" unsigned"),
            _ => Ok(()),
        }
    }
}
