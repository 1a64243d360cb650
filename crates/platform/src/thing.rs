//! The kinds of things a platform creates, as the ledger names them.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which process: a number alone may belong to another process tomorrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in ticks since the start of the machine (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// Something that was created and must be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thing {
    /// A process that leads its own process group.
    Process {
        /// Its program.
        program: PathBuf,
        /// Which one; not known before it is created.
        id: Option<ProcessId>,
    },
    /// A folder with all that is in it.
    Directory {
        /// Its absolute path.
        path: PathBuf,
    },
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::Process { program, id: Some(id) } => {
                write!(f, "process {} ({})", id.pid, program.display())
            }
            Thing::Process { program, id: None } => {
                write!(f, "process of unknown number ({})", program.display())
            }
            Thing::Directory { path } => write!(f, "folder {}", path.display()),
        }
    }
}
