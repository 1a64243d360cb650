//! Values of tables.

use std::borrow::Cow;

/// Kind of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Whole numbers, 64 bits with sign.
    Whole,
    /// Numbers.
    Float,
    Text,
    Truth,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// Not applicable, or unknown.
    Nothing,
    Whole(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Truth(bool),
}

impl From<u64> for Cell<'_> {
    /// A count too large for 63 bits is invalid; the cell is empty.
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Cell::Nothing, Cell::Whole)
    }
}

impl From<u32> for Cell<'_> {
    fn from(n: u32) -> Self {
        Cell::Whole(n.into())
    }
}

impl From<u8> for Cell<'_> {
    fn from(n: u8) -> Self {
        Cell::Whole(n.into())
    }
}

impl From<f64> for Cell<'_> {
    /// NaN and infinities are unknown.
    fn from(x: f64) -> Self {
        if x.is_finite() { Cell::Float(x) } else { Cell::Nothing }
    }
}

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Cell::Truth(truth)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text.into())
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Cell::Text(text.as_str().into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(text.into())
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Nothing, Into::into)
    }
}
