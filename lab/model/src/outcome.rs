//! Outcomes of operations.

/// Outcome of an operation. A small `Copy` value: counted on the request path, worded only in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A correct answer arrived.
    Good,
    /// The target ended a wait as agreed (a long poll that ran out); the user starts its session again. Not a
    /// failure.
    Expired,
    /// An answer of refusal arrived: an unexpected status.
    Refused,
    /// An unreadable or wrong answer arrived.
    WrongAnswer,
    /// No answer arrived before the deadline.
    TimedOut,
    /// The connection could not be opened, or broke.
    Broken,
    /// The driver failed: it lacked a local port, an open file or memory, or its own machine forbade the
    /// connection. Says nothing about the target.
    DriverFault,
    /// The engine ended the operation, because its user was stopped. Not counted as an operation.
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

    /// Returns the index into tables by outcome.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether it is a failure in the sense of the QoS rules.
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

    /// Returns the name in records and reports.
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
