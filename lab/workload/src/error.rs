//! Errors of commands that a workload declares.

use std::error::Error;

use barograph_record::ExitCode;

/// The cause of a [`CommandError`].
pub type Cause = Box<dyn Error + Send + Sync>;

/// A command could not do its work.
#[derive(Debug)]
pub struct CommandError {
    /// How the program ends.
    pub exit: ExitCode,
    /// Why.
    pub why: Cause,
}

impl CommandError {
    /// An error with the exit code that says whose side it was on.
    pub fn new(exit: ExitCode, why: impl Into<Cause>) -> Self {
        CommandError { exit, why: why.into() }
    }

    /// What the user can mend.
    pub fn refused(why: impl Into<Cause>) -> Self {
        CommandError::new(ExitCode::Refused, why)
    }

    /// The same error as the cause of another: `what` was attempted.
    #[must_use]
    pub fn while_doing(self, what: impl Into<String>) -> Self {
        CommandError::new(self.exit, Attempt { what: what.into(), why: self.why })
    }
}

/// What was attempted, with its cause.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Attempt {
    what: String,
    #[source]
    why: Cause,
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;

    use super::*;

    #[test]
    fn an_attempt_keeps_its_cause_and_the_exit_code() {
        let why = CommandError::new(ExitCode::CannotWrite, std::io::Error::other("no space"));
        let why = why.while_doing("write `x`");
        assert_eq!(
            (why.exit, in_one_line(&*why.why)),
            (ExitCode::CannotWrite, "write `x`: no space".to_owned())
        );
        assert_eq!(CommandError::refused("a plain sentence").why.to_string(), "a plain sentence");
    }
}
