//! Errors of a switch.

use std::io;
use std::path::PathBuf;

use barograph_platform::{Fault, LedgerError};

/// A failure to create or change a switch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// The ledger could not be written, so nothing was created.
    #[error("note in the ledger")]
    Note(#[from] LedgerError),
    /// A name is not allowed.
    #[error("use `{name}` as a name: {why}")]
    Name {
        /// The name.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// A namespace or device of this name exists already, from elsewhere.
    #[error("make `{0}`: there is one already")]
    Taken(String),
    /// All networks or all addresses are in use.
    #[error("find a free {0}")]
    NoneFree(&'static str),
    /// The host or tap does not exist.
    #[error("find `{0}` on the switch: it has no such host")]
    Unknown(String),
    /// The switch has been closed.
    #[error("use a switch that is closed")]
    Closed,
    /// The machine lacks a requirement.
    #[error("do this here")]
    Lacks(#[source] barograph_platform::MissingRequirement),
    /// A program could not be started or controlled.
    #[error("run `{}`", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A program failed.
    #[error("run `{command}`: {says}")]
    Refused {
        /// The command.
        command: String,
        /// Its message.
        says: String,
    },
    /// The relay of a link failed to do what was asked.
    #[error("{act} the relay of `{host}`: {says}")]
    Relay {
        /// Host of the link.
        host: String,
        /// The attempt.
        act: &'static str,
        /// Its message, or the defect.
        says: String,
    },
    /// A namespace could not be entered.
    #[error("enter network namespace `{namespace}`")]
    Enter {
        /// Its name.
        namespace: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Offloads of a device could not be set.
    #[error("set the offloads of `{device}`")]
    Offloads {
        /// The device.
        device: String,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// A file could not be read or written.
    #[error("use `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A relay could not be measured.
    #[error("measure the relay: {0}")]
    Calibrate(String),
    /// The work was stopped, because the program ends or by a bug.
    #[error("finish work on the switch: {0}")]
    Stopped(String),
}

impl From<SwitchError> for Fault {
    fn from(error: SwitchError) -> Self {
        Fault::Site { act: "work on the switch".to_owned(), source: Box::new(error) }
    }
}
