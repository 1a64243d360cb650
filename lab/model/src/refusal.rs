//! Refusal of a user's file: place, value, allowed values and remedy.

use std::fmt;

/// An impossible setting in a plan or a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Place of the setting: `file:line`, or `--set`.
    pub place: String,
    /// The key, as in `load.users`; empty if the text is not valid TOML.
    pub key: String,
    /// The value found, as written.
    pub value: String,
    /// Allowed values.
    pub allowed: String,
    /// Remedy.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match (self.key.is_empty(), self.value.is_empty()) {
            (true, _) => write!(f, "{}", self.value)?,
            (false, true) => write!(f, "`{}`", self.key)?,
            (false, false) => write!(f, "`{}` = {}", self.key, self.value)?,
        }
        write!(f, "\n  allowed: {}\n  to do:   {}", self.allowed, self.remedy)
    }
}

/// All impossible settings of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusals(pub Vec<Refusal>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, refusal) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{refusal}")?;
        }
        Ok(())
    }
}
