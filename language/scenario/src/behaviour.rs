//! What follows what where a table is not enough: choosers and scripts.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Condition, DrawId};

/// Index into the scenario's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScriptId(pub u8);

/// The source of a script. Which engine runs it is not this crate's business; it may choose and compute, never do I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// As written in the scenario.
    pub path: PathBuf,
    /// The text.
    pub source: Arc<str>,
}

/// A function of a script. It sees the user's values by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which script.
    pub script: ScriptId,
    /// Which function of it.
    pub function: Box<str>,
}

/// How to answer a question that a behaviour asks about a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Chooser {
    /// The index of the first condition that holds; their number when none does.
    When {
        /// To make first, where their places are empty.
        draws: Vec<DrawId>,
        /// One for each branch but the last.
        conditions: Vec<Condition>,
    },
    /// Whatever the function says: the index of a branch.
    Script {
        /// The function.
        call: Call,
        /// How many branches there are; an answer of this or more is an error.
        branches: usize,
    },
}
