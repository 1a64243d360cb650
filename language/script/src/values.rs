//! Arguments and results of functions: single values, read one by one and never copied whole.

/// One value of a user, as passed to a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// A yes or no.
    Flag(bool),
    /// A whole number; at most 2^53 in size, since JavaScript counts exactly up to there only.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// A text.
    Text(&'a str),
}

/// The named values of one user.
///
/// Only a function's parameters are read, once per call and in their order.
pub trait Values {
    /// The value of that name, or `None` if this user has none: the function then sees `undefined`.
    fn value(&self, name: &str) -> Option<Scalar<'_>>;
}

/// Result of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionResult {
    /// A yes or no.
    Flag(bool),
    /// A whole number, exact.
    Integer(i64),
    /// A number with a fraction; always finite.
    Number(f64),
    /// A text, for example the JSON of `JSON.stringify`.
    Text(String),
}

/// The largest whole number that JavaScript holds exactly.
pub(crate) const LARGEST_EXACT: i64 = (1 << 53) - 1;
