//! What can be wrong with a script, with the file, the line and the function it is wrong in.

use std::fmt;

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named when it was compiled.
    pub file: String,
    /// The line, counted from 1, where it is known.
    pub line: Option<u32>,
    /// The function, where it is in one.
    pub function: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        match &self.function {
            Some(function) => write!(out, ": function `{function}`"),
            None => Ok(()),
        }
    }
}

/// A bound that a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Too many loop turns and calls.
    Steps,
    /// Too much memory.
    Memory,
    /// Too many calls within calls.
    Depth,
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Steps => "more steps than one call may take; does a loop not end?",
            Self::Memory => "more memory than one call may use; make smaller texts and lists",
            Self::Depth => "more calls within calls than allowed; does a recursion not end?",
        })
    }
}

/// What failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The engine could not be started.
    #[error("start a script engine: {0}")]
    Start(String),
    /// The text is not a script of functions.
    #[error("read {place}: {problem}")]
    Read {
        /// Where.
        place: Place,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// No function has that name.
    #[error("find function `{name}` in {file}; it has: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The file it was asked of.
        file: String,
        /// The functions there are, joined by commas.
        known: String,
    },
    /// A call threw.
    #[error("run {place}: {problem}")]
    Threw {
        /// Where.
        place: Place,
        /// What was thrown.
        problem: String,
    },
    /// A call ran into a bound and was ended.
    #[error("run {place}: {bound}")]
    Bound {
        /// Where.
        place: Place,
        /// Which bound.
        bound: Bound,
    },
    /// A value of a user cannot be handed over.
    #[error("hand `{value}` to {place}: {problem}")]
    Hand {
        /// Where to.
        place: Place,
        /// The name of the value.
        value: String,
        /// Why not.
        problem: String,
    },
    /// A function ended well, with something that is of no use.
    #[error("use what {place} returned: {problem}")]
    Answer {
        /// Where.
        place: Place,
        /// What came and what is allowed.
        problem: String,
    },
}
