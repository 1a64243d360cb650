//! Exit codes of the program, a public promise.

/// Outcome of a command. The numbers never change their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Everything requested was done, and every rule held.
    Fine,
    /// A fault of this program.
    Bug,
    /// The user asked for something impossible.
    Refused,
    /// The target did not become ready, or ended.
    TargetNotReady,
    /// The run finished; a QoS rule did not hold.
    QosMissed,
    /// A metric is worse than the baseline's.
    Regression,
    /// The platform could not create or remove something.
    PlatformFault,
    /// Interrupted; the results so far are kept.
    Interrupted,
    /// Results could not be written.
    CannotWrite,
    /// The run finished; its measurement is not valid.
    NotValid,
    /// A comparison is undecided, and strictness was requested.
    Undecided,
    /// The run finished; its data checks found something wrong, so its measurement is not valid either.
    WrongData,
}

impl ExitCode {
    /// Returns the exit code of the process.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            ExitCode::Fine => 0,
            ExitCode::Bug => 1,
            ExitCode::Refused => 2,
            ExitCode::TargetNotReady => 3,
            ExitCode::QosMissed => 4,
            ExitCode::Regression => 5,
            ExitCode::PlatformFault => 6,
            ExitCode::Interrupted => 7,
            ExitCode::CannotWrite => 8,
            ExitCode::NotValid => 9,
            ExitCode::Undecided => 10,
            ExitCode::WrongData => 11,
        }
    }

    /// Returns the code of a finished run whose data are right. Not valid takes precedence, because then the rules are not known
    /// to hold.
    #[must_use]
    pub const fn of_run(passed: bool, valid: bool) -> Self {
        match (valid, passed) {
            (false, _) => ExitCode::NotValid,
            (true, false) => ExitCode::QosMissed,
            (true, true) => ExitCode::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_be_believed_is_never_fine() {
        assert_eq!(ExitCode::of_run(true, true).code(), 0);
        assert_eq!(ExitCode::of_run(false, true).code(), 4);
        assert_eq!(ExitCode::of_run(true, false).code(), 9);
        assert_eq!(ExitCode::of_run(false, false).code(), 9);
    }
}
