//! Errors of units and sites, and the side at fault.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{BadReadyLine, LedgerError, UnitExit};

/// Side at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Barograph itself, or the disk it writes to.
    Tool,
    /// The unit.
    Target,
    /// The platform of the unit.
    Platform,
}

/// The last lines of a unit's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail(pub Vec<String>);

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; its log is empty");
        }
        f.write_str("; the end of its log:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// A unit or a site could not be created or controlled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The ledger could not be written, so nothing was created, or the created unit was stopped again.
    #[error("note unit `{unit}` in the ledger")]
    Note {
        /// Name of the unit.
        unit: String,
        /// The cause.
        #[source]
        source: LedgerError,
    },
    /// The log could not be opened.
    #[error("open log `{}` of unit `{unit}`", path.display())]
    OpenLog {
        /// Name of the unit.
        unit: String,
        /// Path of the log.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The program could not be started.
    #[error("start unit `{unit}` with program `{}`", program.display())]
    Start {
        /// Name of the unit.
        unit: String,
        /// Path of the program.
        program: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The unit ended before it was ready, or a job failed.
    #[error("unit `{unit}` ended before it was ready: {ended}{log}")]
    EndedEarly {
        /// Name of the unit.
        unit: String,
        /// Its exit status.
        ended: UnitExit,
        /// Last lines of its log.
        log: LogTail,
    },
    /// The unit was not ready in time and was killed.
    #[error("unit `{unit}` was not ready within {timeout:?}{log}")]
    NotReady {
        /// Name of the unit.
        unit: String,
        /// Length of the wait.
        timeout: Duration,
        /// Last lines of its log.
        log: LogTail,
    },
    /// The ready line of the unit is invalid. The unit was killed.
    #[error("unit `{unit}` announced itself wrongly")]
    BadReadyLine {
        /// Name of the unit.
        unit: String,
        /// Defect of the line.
        #[source]
        source: BadReadyLine,
    },
    /// The unit could not be signalled.
    #[error("{act} unit `{unit}`")]
    Signal {
        /// Name of the unit.
        unit: String,
        /// The attempt: "stop", "pause", ...
        act: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A step before the start of a unit failed.
    #[error("prepare unit `{unit}` with `{step}`: {ended}{log}")]
    Prepare {
        /// Name of the unit.
        unit: String,
        /// The command.
        step: String,
        /// Its exit status.
        ended: UnitExit,
        /// Last lines of its log.
        log: LogTail,
    },
    /// An operation on a unit failed.
    #[error("{act} unit `{unit}`")]
    Unit {
        /// Name of the unit.
        unit: String,
        /// The attempt, as "limit" or "write a file of".
        act: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A host, a network, an image or another part of a site could not be created, changed or removed.
    #[error("{act}")]
    Site {
        /// The attempt, as "make network namespace `bgx-app-1`".
        act: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The unit did not end after it was killed.
    #[error("unit `{unit}` still runs {after:?} after it was killed")]
    WillNotEnd {
        /// Name of the unit.
        unit: String,
        /// Length of the wait.
        after: Duration,
    },
}

impl Fault {
    /// Returns the side at fault.
    #[must_use]
    pub fn side(&self) -> Side {
        match self {
            Fault::Note { .. } | Fault::OpenLog { .. } => Side::Tool,
            Fault::EndedEarly { .. }
            | Fault::NotReady { .. }
            | Fault::BadReadyLine { .. }
            | Fault::Prepare { .. } => Side::Target,
            Fault::Start { .. }
            | Fault::Signal { .. }
            | Fault::Unit { .. }
            | Fault::Site { .. }
            | Fault::WillNotEnd { .. } => Side::Platform,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_end_shows_the_status_and_the_log() {
        let log = LogTail(vec!["port in use".to_owned(), "giving up".to_owned()]);
        let fault = Fault::EndedEarly { unit: "app".to_owned(), ended: UnitExit::Code(3), log };
        let text = "unit `app` ended before it was ready: exit code 3; the end of its log:\n  port in use\n  giving up";
        assert_eq!(fault.to_string(), text);
        assert_eq!(fault.side(), Side::Target);
    }
}
