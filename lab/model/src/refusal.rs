//! How a file a user wrote is refused: where, what was found, what is allowed, what to do.

use std::fmt;

/// One thing in a plan or a scenario that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it stands: `file:line`, or `--set`.
    pub place: String,
    /// The key, as in `load.users`; empty when the text is not TOML at all.
    pub key: String,
    /// The value found, as written.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
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

/// Everything in a file that cannot be, at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused(pub Vec<Refusal>);

impl fmt::Display for Refused {
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
