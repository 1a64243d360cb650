//! Report of a supervisor on a command.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// Report on a command that has ended, as a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its end.
    pub end: End,
    /// Time from its start to its end, in microseconds.
    pub elapsed_us: u64,
    /// Resources of the command and of all its descendants.
    pub usage: Usage,
    /// Last part of its output: standard output and standard error in one.
    pub output: String,
    /// Bytes of the whole output.
    pub output_bytes: u64,
    /// Processes that outlived the command, and were killed.
    pub left_behind: u32,
}

/// End of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Exit code.
    Exited(i32),
    /// Signal that killed it.
    Killed(i32),
    /// Reason why it could not be started.
    NotStarted(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(code) => write!(f, "exit code {code}"),
            End::Killed(signal) => write!(f, "killed by signal {signal}"),
            End::NotStarted(why) => write!(f, "not started: {why}"),
        }
    }
}
