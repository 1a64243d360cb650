//! What the person in front of the terminal is shown while a run goes on.

use barograph_model::{Nanos, Phase};

/// Where a run shows what it does. Must return quickly.
pub trait Screen: Send {
    /// A phase begins.
    fn phase(&mut self, phase: Phase, about: &str);

    /// How far the phase and the run are.
    fn progress(&mut self, progress: &Progress);

    /// A line that stays: a trial's result, a note.
    fn say(&mut self, line: &str);
}

/// How far things are.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Part of the phase that is done, 0 to 1.
    pub done: f64,
    /// Longest time the run may still take, when it is known.
    pub remaining: Option<Nanos>,
    /// Figures of this moment.
    pub line: String,
}
