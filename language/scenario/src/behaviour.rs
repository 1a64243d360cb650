//! Choosers and scripts: transitions that a table cannot express.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Condition, DrawId};

/// Index into the scenario's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScriptId(pub u8);

/// The source of a script. The engine that runs it is outside of this crate; a script may choose and compute,
/// never do I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The path in the scenario.
    pub path: PathBuf,
    /// The text.
    pub source: Arc<str>,
}

/// A function of a script. It sees the user's values by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The script.
    pub script: ScriptId,
    /// The function.
    pub function: Box<str>,
}

/// A rule that answers a behaviour's question about a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Chooser {
    /// The index of the first condition that holds; their number when none does.
    When {
        /// Draws to make first, where their places are empty.
        draws: Vec<DrawId>,
        /// One condition for each branch but the last.
        conditions: Vec<Condition>,
    },
    /// The result of a function: the index of a branch.
    Script {
        /// The function.
        call: Call,
        /// Number of branches; an answer of this or more is an error.
        branches: usize,
    },
}
