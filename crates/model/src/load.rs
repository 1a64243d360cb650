//! What load is asked for and for how long.

use crate::{Nanos, Share};

/// How a run looks for its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// A constant number of users, judged in each measured window.
    Fixed {
        /// Users active in the measured windows.
        users: u32,
        /// How many measured windows follow each other; all must pass.
        windows: u32,
    },
    /// The most users that pass.
    Search(SearchBounds),
}

/// Where a search looks and when it is content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBounds {
    /// Fewest users worth a trial; failing here ends the search.
    pub min_users: u32,
    /// Most users the data admits; passing here ends the search.
    pub max_users: u32,
    /// Step of the result, as a share of it: the search ends when the bracket is narrower.
    pub resolution: Share,
    /// How many trials at most, the confirming one included.
    pub max_trials: u32,
}

/// How long the parts of a run take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// From no users to the asked number (fixed), or to the most users (first ramp of a search).
    pub ramp: Nanos,
    /// After the ramp, before the first measured window of a fixed run or of a search's first trial.
    pub warm_up: Nanos,
    /// A measured window.
    pub window: Nanos,
    /// Search: time in which users are added or taken away between two trials.
    pub step: Nanos,
    /// Search: after a step, before its window.
    pub settle: Nanos,
    /// The confirming window at the found capacity.
    pub confirm: Nanos,
    /// How long operations in flight may take to end after the last window.
    pub drain: Nanos,
}
