//! A small language for configuration files: words in braces, and blocks that are kept, left out or repeated.
//!
//! A brace that is followed by a lower-case letter opens a word; every other brace is text, as are two braces for one.
//! A line that holds nothing but `{if:WORD}`, `{unless:WORD}` or `{each:WORD}` opens a block that a line with nothing
//! but `{end}` closes. Words are checked when a template is read, so that a wrong one never meets a user.

mod parse;
mod render;

#[cfg(test)]
mod tests;

pub(crate) use parse::{Known, RESERVED, condition, inline, text};
pub(crate) use render::Scope;

use crate::size::{Quantity, Step};

/// A text that was read and found good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Word(Expression),
    If { condition: Condition, body: Vec<Part> },
    Each { list: String, body: Vec<Part> },
}

/// What a word in braces stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Fact(Fact),
    /// The number of a port.
    Port(String),
    /// Address and port, an IPv6 address in brackets.
    Socket(String),
    /// A program or folder of this machine.
    Path(String),
    Quantity(Quantity, Step),
    /// A word of the topology that is a number.
    Number(String, Step),
    /// Another word of the topology.
    Value(String, View),
    /// The piece that a block is repeated for.
    Item(View),
}

/// What a place says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Name,
    Host,
    Address,
    /// As Erlang writes it inside braces: `127,0,0,1`.
    AddressErlang,
    Folder,
    OwnProgram,
    Flavour,
}

/// Which part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Whole,
    Name,
    Host,
    Port,
}

/// Whether something is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    asked: Asked,
    /// It must hold; else it must not.
    holds: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Tuned,
    /// The topology gave the word, or it has a default.
    Given(String),
    /// The word has this value.
    Is(String, String),
}
