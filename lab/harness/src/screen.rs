//! What the person in front of the terminal is shown while a run goes on.

use barograph_model::{Nanos, Offered, Phase};
use barograph_stats::Interval;
use barograph_stats::search::SoFar;

/// Where a run shows what it does. Must return quickly.
pub trait Screen: Send {
    /// A phase begins.
    fn phase(&mut self, phase: Phase, about: &str);

    /// How far the phase and the run are.
    fn progress(&mut self, progress: &Progress);

    /// A line that stays: a trial's result, a note.
    fn say(&mut self, line: &str);

    /// A trial of a search is over: what is known by now. Comes after the line that tells its result.
    fn so_far(&mut self, so_far: &SoFar) {
        self.say(&so_far.words());
    }

    /// An interval of the load has ended. Comes just before the [`Self::progress`] that words it.
    fn interval(&mut self, interval: &Interval, live: &Live) {
        let _ = (interval, live);
    }
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

/// What is known at the end of an interval beside what it recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// The phase the load is in.
    pub phase: Phase,
    /// Part of the phase that is done, 0 to 1.
    pub done: f64,
    /// The load asked for; while it changes, the one it leads to.
    pub offered: Offered,
    /// Longest time the load may still take.
    pub remaining: Option<Nanos>,
    /// Cores the driver used in the interval.
    pub driver_cores: Option<f64>,
    /// Resident memory of the driver, bytes.
    pub driver_rss_bytes: Option<u64>,
    /// Cores the application used; `None` where it is no process of ours.
    pub app_cores: Option<f64>,
    /// Cores busy on the host, everything on it.
    pub host_cores: Option<f64>,
}
