//! The end of a process, in words.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The end of a unit's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitExit {
    /// It ended by itself with this exit code; 0 is success.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The node of this name, on which it ran, does not answer any more.
    NodeLost(String),
    /// It ended in an unknown way.
    Unknown(String),
}

impl UnitExit {
    /// Whether it ended by itself with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == UnitExit::Code(0)
    }
}

impl From<ExitStatus> for UnitExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => UnitExit::Code(code),
            (None, Some(signal)) => UnitExit::Signal(signal),
            (None, None) => UnitExit::Unknown(status.to_string()),
        }
    }
}

impl fmt::Display for UnitExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitExit::Code(code) => write!(f, "exit code {code}"),
            UnitExit::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by {name} (signal {number})"),
                None => write!(f, "killed by signal {number}"),
            },
            UnitExit::NodeLost(node) => write!(f, "its node {node} was lost"),
            UnitExit::Unknown(text) => write!(f, "ended in an unknown way ({text})"),
        }
    }
}

/// Numbers of Linux on x86 and ARM; only signals that end a process.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_names() {
        let texts = [
            (0, "exit code 0"),
            (3 << 8, "exit code 3"),
            (9, "killed by SIGKILL (signal 9)"),
            (11 | 0x80, "killed by SIGSEGV (signal 11)"),
            (40, "killed by signal 40"),
        ];
        for (raw, text) in texts {
            assert_eq!(UnitExit::from(ExitStatus::from_raw(raw)).to_string(), text);
        }
        let lost = UnitExit::NodeLost("node-1".to_owned());
        assert_eq!(lost.to_string(), "its node node-1 was lost");
        assert!(
            UnitExit::Code(0).is_success()
                && !UnitExit::Code(1).is_success()
                && !UnitExit::Signal(9).is_success()
        );
    }
}
