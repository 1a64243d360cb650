//! Errors of scripts, with file, line and function.

use std::fmt;

/// Position of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLocation {
    /// The name of the file, as given at compilation.
    pub file: String,
    /// The line, counted from 1, if known.
    pub line: Option<u32>,
    /// The function, if inside one.
    pub function: Option<String>,
}

impl fmt::Display for ErrorLocation {
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

/// A bound exceeded by a call.
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

/// Error of a script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The engine could not be started.
    #[error("start a script engine: {0}")]
    Start(String),
    /// The text is not a script of functions.
    #[error("read {place}: {problem}")]
    Read {
        /// The position.
        place: ErrorLocation,
        /// The fault and the expected form.
        problem: String,
    },
    /// No function has that name.
    #[error("find function `{name}` in {file}; it has: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The file.
        file: String,
        /// The existing functions, joined by commas.
        known: String,
    },
    /// A call threw an exception.
    #[error("run {place}: {problem}")]
    Threw {
        /// The position.
        place: ErrorLocation,
        /// The exception.
        problem: String,
    },
    /// A call exceeded a bound and was ended.
    #[error("run {place}: {bound}")]
    Bound {
        /// The position.
        place: ErrorLocation,
        /// The bound.
        bound: Bound,
    },
    /// A user's value cannot be passed.
    #[error("hand `{value}` to {place}: {problem}")]
    Hand {
        /// The position.
        place: ErrorLocation,
        /// The name of the value.
        value: String,
        /// The reason.
        problem: String,
    },
    /// A function returned an unusable value.
    #[error("use what {place} returned: {problem}")]
    Answer {
        /// The position.
        place: ErrorLocation,
        /// The value and the allowed ones.
        problem: String,
    },
}
