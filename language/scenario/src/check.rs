//! What must hold of an answer.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::{Pattern, Pointer, Schema, Template};

/// What must hold of an answer, or of a message of a stream. A status that is not allowed means "refused", anything
/// else that does not hold means "wrong answer".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// The status must lie in one of these; empty for messages of a stream, which have none.
    pub status: Vec<RangeInclusive<u16>>,
    /// What must hold of headers.
    pub headers: Vec<HeaderCheck>,
    /// What must hold of the body, or of the message.
    pub body: Vec<BodyCheck>,
    /// Allowed size of the body in bytes.
    pub size: Option<RangeInclusive<u64>>,
}

impl Check {
    /// Is this status allowed?
    #[must_use]
    pub fn allows(&self, status: u16) -> bool {
        self.status.iter().any(|range| range.contains(&status))
    }
}

/// What must hold of one header.
#[derive(Clone, Debug, PartialEq)]
pub struct HeaderCheck {
    /// Its name in lower case.
    pub name: Box<str>,
    /// What must hold.
    pub test: HeaderTest,
}

/// What must hold of a header's value.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderTest {
    /// The header is there, or is not.
    Present(bool),
    /// The value is this.
    Equals(Template),
    /// The expression matches somewhere in the value.
    Matches(Pattern),
}

/// What must hold of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyCheck {
    /// These bytes are somewhere in it.
    Contains(Template),
    /// These bytes are nowhere in it.
    ContainsNot(Template),
    /// The expression matches somewhere in it.
    Matches(Pattern),
    /// It is JSON, and so is what the pointer leads to.
    Json {
        /// Where in the document; without `*`.
        pointer: Pointer,
        /// What must be there.
        expected: Expected,
    },
    /// It is JSON that fits the schema.
    Schema(Arc<Schema>),
}

/// What a place in a JSON document must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Something, or nothing.
    Exists(bool),
    /// This number, however it is written.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A text, or a number written so.
    Text(Template),
}
