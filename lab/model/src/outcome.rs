//! How an operation ended.

/// How an operation ended. A small `Copy` value: counted on the request path, worded only in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The right answer came.
    Good,
    /// The target ended a wait as agreed (a long poll that ran out); the user starts its session again. Not a failure.
    Expired,
    /// An answer came that says no: an unexpected status.
    Refused,
    /// An answer came that cannot be read or is not what was asked for.
    WrongAnswer,
    /// No answer came before the deadline.
    TimedOut,
    /// The connection could not be made, or broke.
    Broken,
    /// The driver could not do its part: it had no local port, no open file or no memory left, or its own machine forbade
    /// the connection. Says nothing about the target.
    DriverFault,
    /// The engine ended the operation itself: a user that was told to stop. Not counted as an operation.
    Cancelled,
}

impl Outcome {
    /// Every outcome, in the order of their indices.
    pub const ALL: [Outcome; 8] = [
        Outcome::Good,
        Outcome::Expired,
        Outcome::Refused,
        Outcome::WrongAnswer,
        Outcome::TimedOut,
        Outcome::Broken,
        Outcome::DriverFault,
        Outcome::Cancelled,
    ];

    /// As an index into tables by outcome.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Is this a failed operation in the sense of the QoS rules?
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Outcome::Refused
                | Outcome::WrongAnswer
                | Outcome::TimedOut
                | Outcome::Broken
                | Outcome::DriverFault
        )
    }

    /// The name in records and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Good => "good",
            Outcome::Expired => "expired",
            Outcome::Refused => "refused",
            Outcome::WrongAnswer => "wrong answer",
            Outcome::TimedOut => "timed out",
            Outcome::Broken => "broken connection",
            Outcome::DriverFault => "driver fault",
            Outcome::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_the_list() {
        for (i, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(outcome.index(), i);
        }
    }
}
