//! What can go wrong with a unit, and on whose side.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{BadReadyLine, Ended, LedgerError};

/// On whose side a fault lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Barograph itself, or the disk it writes to.
    Tool,
    /// The unit that was to run.
    Target,
    /// What the unit runs on.
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

/// A unit could not be created or handled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The ledger could not be written, so nothing was created, or what was created has been stopped again.
    #[error("note unit `{unit}` in the ledger")]
    Note {
        /// The unit.
        unit: String,
        /// Why.
        #[source]
        source: LedgerError,
    },
    /// The log could not be opened.
    #[error("open log `{}` of unit `{unit}`", path.display())]
    OpenLog {
        /// The unit.
        unit: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The program could not be started.
    #[error("start unit `{unit}` with program `{}`", program.display())]
    Start {
        /// The unit.
        unit: String,
        /// Its program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The unit ended before it was ready, or a job ended badly.
    #[error("unit `{unit}` ended before it was ready: {ended}{log}")]
    EndedEarly {
        /// The unit.
        unit: String,
        /// How it ended.
        ended: Ended,
        /// What it had to say.
        log: LogTail,
    },
    /// The unit was not ready in time and has been killed.
    #[error("unit `{unit}` was not ready within {timeout:?}{log}")]
    NotReady {
        /// The unit.
        unit: String,
        /// The wait that was allowed.
        timeout: Duration,
        /// What it had to say.
        log: LogTail,
    },
    /// The unit said that it is ready, in a way that cannot be used. It has been killed.
    #[error("unit `{unit}` announced itself wrongly")]
    BadReadyLine {
        /// The unit.
        unit: String,
        /// What is wrong.
        #[source]
        source: BadReadyLine,
    },
    /// The unit could not be signalled.
    #[error("{act} unit `{unit}`")]
    Signal {
        /// The unit.
        unit: String,
        /// What was attempted: "stop", "pause", ...
        act: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A step before the start of a unit failed.
    #[error("prepare unit `{unit}` with `{step}`: {ended}{log}")]
    Prepare {
        /// The unit.
        unit: String,
        /// The command.
        step: String,
        /// How it ended.
        ended: Ended,
        /// What it had to say.
        log: LogTail,
    },
    /// Something was asked of a unit that cannot be done.
    #[error("{act} unit `{unit}`")]
    Unit {
        /// The unit.
        unit: String,
        /// What was attempted, as "limit" or "write a file of".
        act: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A host, a network, an image or another part of a site could not be made, changed or removed.
    #[error("{act}")]
    Site {
        /// What was attempted, as "make network namespace `bgx-app-1`".
        act: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The unit did not end although it was killed.
    #[error("unit `{unit}` still runs {after:?} after it was killed")]
    WillNotEnd {
        /// The unit.
        unit: String,
        /// How long was waited.
        after: Duration,
    },
}

impl Fault {
    /// On whose side the fault lies.
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
        let fault = Fault::EndedEarly { unit: "app".to_owned(), ended: Ended::Code(3), log };
        let text = "unit `app` ended before it was ready: exit code 3; the end of its log:\n  port in use\n  giving up";
        assert_eq!(fault.to_string(), text);
        assert_eq!(fault.side(), Side::Target);
    }
}
