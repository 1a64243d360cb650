//! Types of columns and parameters, and the instants among their values.

use std::fmt;

/// The type of a column or a parameter, as far as values of it are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `double precision`.
    Float8,
    /// `text`, `varchar`, `char`, `name`, `json`.
    Text,
    /// `bytea`.
    Bytea,
    /// `timestamp`, `timestamptz`.
    Timestamp,
    /// Any other, by its object identifier: a text in both directions, as `numeric` is.
    Other(u32),
}

impl SqlType {
    /// The type with this object identifier.
    #[must_use]
    pub fn of(oid: u32) -> Self {
        match oid {
            16 => SqlType::Bool,
            17 => SqlType::Bytea,
            18 | 19 | 25 | 114 | 705 | 1042 | 1043 => SqlType::Text,
            20 => SqlType::Int8,
            21 => SqlType::Int2,
            23 => SqlType::Int4,
            701 => SqlType::Float8,
            1114 | 1184 => SqlType::Timestamp,
            other => SqlType::Other(other),
        }
    }

    /// Bytes of each value; `None` where values differ in length.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            SqlType::Bool => Some(1),
            SqlType::Int2 => Some(2),
            SqlType::Int4 => Some(4),
            SqlType::Int8 | SqlType::Float8 | SqlType::Timestamp => Some(8),
            SqlType::Text | SqlType::Bytea | SqlType::Other(_) => None,
        }
    }

    /// Whether its values go over the wire in binary form.
    pub(crate) fn is_binary(self) -> bool {
        !matches!(self, SqlType::Other(_))
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Bool => f.write_str("boolean"),
            SqlType::Int2 => f.write_str("smallint"),
            SqlType::Int4 => f.write_str("integer"),
            SqlType::Int8 => f.write_str("bigint"),
            SqlType::Float8 => f.write_str("double precision"),
            SqlType::Text => f.write_str("text"),
            SqlType::Bytea => f.write_str("bytea"),
            SqlType::Timestamp => f.write_str("timestamp"),
            SqlType::Other(oid) => write!(f, "type {oid}"),
        }
    }
}

/// Microseconds from 1970 to 2000, where PostgreSQL begins to count.
const EPOCH_US: i64 = 946_684_800_000_000;

/// An instant to the microsecond. The infinite ones are the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub(crate) i64);

impl Timestamp {
    /// The instant in microseconds after the beginning of 1970 (UTC).
    #[must_use]
    pub fn from_unix_us(us: i64) -> Self {
        Timestamp(us.saturating_sub(EPOCH_US))
    }

    /// Microseconds since the beginning of 1970 (UTC).
    #[must_use]
    pub fn unix_us(self) -> i64 {
        self.0.saturating_add(EPOCH_US)
    }
}
