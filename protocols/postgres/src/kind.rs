//! Types of columns and parameters, and the instants among their values.

use std::fmt;

/// The type of a column or a parameter, as far as values of it are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// The type with this object identifier.
    #[must_use]
    pub fn of(oid: u32) -> Self {
        match oid {
            16 => Kind::Bool,
            17 => Kind::Bytea,
            18 | 19 | 25 | 114 | 705 | 1042 | 1043 => Kind::Text,
            20 => Kind::Int8,
            21 => Kind::Int2,
            23 => Kind::Int4,
            701 => Kind::Float8,
            1114 | 1184 => Kind::Timestamp,
            other => Kind::Other(other),
        }
    }

    /// Bytes of each value; `None` where values differ in length.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Kind::Bool => Some(1),
            Kind::Int2 => Some(2),
            Kind::Int4 => Some(4),
            Kind::Int8 | Kind::Float8 | Kind::Timestamp => Some(8),
            Kind::Text | Kind::Bytea | Kind::Other(_) => None,
        }
    }

    /// Whether its values go over the wire in binary form.
    pub(crate) fn is_binary(self) -> bool {
        !matches!(self, Kind::Other(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bool => f.write_str("boolean"),
            Kind::Int2 => f.write_str("smallint"),
            Kind::Int4 => f.write_str("integer"),
            Kind::Int8 => f.write_str("bigint"),
            Kind::Float8 => f.write_str("double precision"),
            Kind::Text => f.write_str("text"),
            Kind::Bytea => f.write_str("bytea"),
            Kind::Timestamp => f.write_str("timestamp"),
            Kind::Other(oid) => write!(f, "type {oid}"),
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
