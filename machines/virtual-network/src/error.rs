//! What can go wrong with a switch.

use std::io;
use std::path::PathBuf;

use barograph_platform::{Fault, LedgerError};

/// A switch could not be made or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// The ledger could not be written, so nothing was made.
    #[error("note in the ledger")]
    Note(#[from] LedgerError),
    /// A name cannot be used.
    #[error("use `{name}` as a name: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A namespace or device of this name is there already, and not ours.
    #[error("make `{0}`: there is one already")]
    Taken(String),
    /// All networks or all addresses are in use.
    #[error("find a free {0}")]
    NoneFree(&'static str),
    /// There is no such host or tap.
    #[error("find `{0}` on the switch: it has no such host")]
    Unknown(String),
    /// The switch has been closed.
    #[error("use a switch that is closed")]
    Closed,
    /// The machine lacks something.
    #[error("do this here")]
    Lacks(#[source] barograph_platform::Missing),
    /// A program could not be started or talked to.
    #[error("run `{}`", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A program said no.
    #[error("run `{command}`: {says}")]
    Refused {
        /// The command.
        command: String,
        /// What it said.
        says: String,
    },
    /// The relay of a link did not do what it was asked.
    #[error("{act} the relay of `{host}`: {says}")]
    Relay {
        /// Whose link.
        host: String,
        /// What was attempted.
        act: &'static str,
        /// What it said, or what is wrong.
        says: String,
    },
    /// A namespace could not be entered.
    #[error("enter network namespace `{namespace}`")]
    Enter {
        /// Its name.
        namespace: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("use `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A measurement of the relay could not be made.
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
