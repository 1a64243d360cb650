//! Checks of an answer.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::{Pattern, Pointer, Schema, Template};

/// Checks of an answer, or of a message of a stream. A status that is not allowed means "refused", any other
/// failed check means "wrong answer".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// Allowed statuses; empty for messages of a stream, which have none.
    pub status: Vec<RangeInclusive<u16>>,
    /// Checks of headers.
    pub headers: Vec<HeaderCheck>,
    /// Checks of the body, or of the message.
    pub body: Vec<BodyCheck>,
    /// Allowed size of the body in bytes.
    pub size: Option<RangeInclusive<u64>>,
}

impl Check {
    /// Whether this status is allowed.
    #[must_use]
    pub fn allows(&self, status: u16) -> bool {
        self.status.iter().any(|range| range.contains(&status))
    }
}

/// Check of one header.
#[derive(Clone, Debug, PartialEq)]
pub struct HeaderCheck {
    /// Its name in lower case.
    pub name: Box<str>,
    /// The check.
    pub test: HeaderTest,
}

/// Check of a header's value.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderTest {
    /// The header exists, or does not.
    Present(bool),
    /// The value equals this text.
    Equals(Template),
    /// The expression matches somewhere in the value.
    Matches(Pattern),
}

/// Check of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyCheck {
    /// The body contains these bytes.
    Contains(Template),
    /// The body does not contain these bytes.
    ContainsNot(Template),
    /// The expression matches somewhere in the body.
    Matches(Pattern),
    /// The body is JSON, with the expected value at the pointer.
    Json {
        /// The place in the document; without `*`.
        pointer: Pointer,
        /// The expected value.
        expected: ExpectedValue,
    },
    /// The body is JSON that fits the schema.
    Schema(Arc<Schema>),
}

/// Expected value at a place in a JSON document.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// Any value, or none.
    Exists(bool),
    /// This number, in any notation.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A text, or a number with this text.
    Text(Template),
}
