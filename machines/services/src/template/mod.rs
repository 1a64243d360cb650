//! A small language for configuration files: words in braces, and conditional and repeated blocks.
//!
//! A brace followed by a lower-case letter opens a word; every other brace is text, and two braces are one. A
//! line that contains only `{if:WORD}`, `{unless:WORD}` or `{each:WORD}` opens a block, which a line with
//! only `{end}` closes. Words are checked when a template is read, so that users never meet an unknown one.

mod parse;
mod render;

#[cfg(test)]
mod tests;

pub(crate) use parse::{KnownNames, RESERVED, condition, inline, text};
pub(crate) use render::Scope;

use crate::size::{Quantity, Step};

/// A parsed and checked text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Word(Expression),
    If { condition: Condition, body: Vec<TemplatePart> },
    Each { list: String, body: Vec<TemplatePart> },
}

/// Meaning of a word in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Fact(Fact),
    /// Number of a port.
    Port(String),
    /// Address and port, with an IPv6 address in brackets.
    Socket(String),
    /// Path of a program or folder of this machine.
    Path(String),
    Quantity(Quantity, Step),
    /// A numeric word of the topology.
    Number(String, Step),
    /// Any other word of the topology.
    Value(String, View),
    /// The current item of a repeated block.
    Item(View),
}

/// A property of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Name,
    Host,
    Address,
    /// In Erlang's syntax within braces: `127,0,0,1`.
    AddressErlang,
    Folder,
    OwnProgram,
    Flavour,
}

/// Part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Whole,
    Name,
    Host,
    Port,
}

/// Condition for keeping a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    asked: ConditionTest,
    /// Whether it must hold, or must not.
    holds: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ConditionTest {
    Tuned,
    /// The topology gave the word, or it has a default.
    Given(String),
    /// The word has this value.
    Is(String, String),
}
