//! Errors of commands declared by a workload.

use std::error::Error;

use barograph_record::ExitCode;

/// The cause of a [`CommandError`].
pub type Cause = Box<dyn Error + Send + Sync>;

/// Failure of a command.
#[derive(Debug)]
pub struct CommandError {
    /// Exit code of the program.
    pub exit: ExitCode,
    /// The cause.
    pub why: Cause,
}

impl CommandError {
    /// Makes an error with an exit code, which names the side at fault.
    pub fn new(exit: ExitCode, why: impl Into<Cause>) -> Self {
        CommandError { exit, why: why.into() }
    }

    /// Makes an error that the user can fix.
    pub fn refused(why: impl Into<Cause>) -> Self {
        CommandError::new(ExitCode::Refused, why)
    }

    /// Wraps this error as the cause of another; `what` names the attempt.
    #[must_use]
    pub fn while_doing(self, what: impl Into<String>) -> Self {
        CommandError::new(self.exit, Attempt { what: what.into(), why: self.why })
    }
}

/// A failed attempt with its cause.
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
