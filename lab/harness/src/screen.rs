//! Output on the terminal during a run.

use barograph_model::{Nanos, OfferedLoad, Phase};
use barograph_stats::Interval;
use barograph_stats::search::SearchProgress;

/// Display of a run's progress. Its functions must return quickly.
pub trait Screen: Send {
    /// A phase begins.
    fn phase(&mut self, phase: Phase, about: &str);

    /// Shows the progress of phase and run.
    fn progress(&mut self, progress: &Progress);

    /// Shows a line that stays: a trial's result, a note.
    fn say(&mut self, line: &str);

    /// Shows the state of a search after a trial. Called after the line with the trial's result.
    fn so_far(&mut self, so_far: &SearchProgress) {
        self.say(&so_far.words());
    }

    /// Takes an ended interval. Called just before the [`Self::progress`] that describes it.
    fn interval(&mut self, interval: &Interval, live: &IntervalContext) {
        let _ = (interval, live);
    }
}

/// Progress of phase and run.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Completed share of the phase, 0 to 1.
    pub done: f64,
    /// Longest time the run may still take, if known.
    pub remaining: Option<Nanos>,
    /// Current figures.
    pub line: String,
}

/// Figures at the end of an interval in addition to the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalContext {
    /// Current phase of the load.
    pub phase: Phase,
    /// Completed share of the phase, 0 to 1.
    pub done: f64,
    /// Level asked for; during a change, the level it leads to.
    pub offered: OfferedLoad,
    /// Longest time the load may still take.
    pub remaining: Option<Nanos>,
    /// Cores used by the driver in the interval.
    pub driver_cores: Option<f64>,
    /// Resident memory of the driver, bytes.
    pub driver_rss_bytes: Option<u64>,
    /// Cores used by the application; `None` if the run did not deploy it.
    pub app_cores: Option<f64>,
    /// Busy cores of the host, all processes included.
    pub host_cores: Option<f64>,
}
