//! The run's own time axis: seconds since it began, and whether the wall clock kept pace.

use std::time::{Instant, SystemTime};

use barograph_model::Nanos;

/// Counts from the beginning of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    began: Instant,
    wall: SystemTime,
}

impl RunClock {
    pub(crate) fn start() -> Self {
        RunClock { began: Instant::now(), wall: SystemTime::now() }
    }

    /// Time since the run began.
    pub(crate) fn now(&self) -> Nanos {
        Nanos::from(self.began.elapsed())
    }

    pub(crate) fn at_s(&self) -> f64 {
        self.now().as_secs_f64()
    }

    /// By how many seconds the wall clock went ahead of the monotonic clock since the run began.
    pub(crate) fn wall_ahead_s(&self) -> f64 {
        let wall = match SystemTime::now().duration_since(self.wall) {
            Ok(on) => on.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        wall - self.at_s()
    }
}
