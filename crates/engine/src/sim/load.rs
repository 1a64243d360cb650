//! A load in simulated time behind the same handle as a real one: intervals on the same grid, changes announced as early.

use barograph_model::Nanos;
use barograph_stats::Interval;

use super::{Simulation, Time};
use crate::handle::CONTROL_LOOK;
use crate::population::Population;
use crate::worker::Ramp;
use crate::{Beginning, EngineError, EngineHandle, Runnable, Settings, Timer};

/// A workload whose load is simulated. `make` is called once for each worker with a timer for its simulated target.
pub fn runnable<W, F>(time: &Time, make: F) -> Box<dyn Runnable>
where
    W: Population,
    F: FnMut(Timer) -> W + Send + 'static,
{
    Box::new(Make { time: time.clone(), make })
}

struct Make<F> {
    time: Time,
    make: F,
}

impl<W, F> Runnable for Make<F>
where
    W: Population,
    F: FnMut(Timer) -> W + Send + 'static,
{
    fn begin(
        self: Box<Self>,
        settings: &Settings,
        beginning: Beginning,
    ) -> Result<EngineHandle, EngineError> {
        let simulation = Simulation::of_driver(settings, beginning.place, self.make);
        Ok(EngineHandle::simulated(Load {
            simulation: Box::new(simulation),
            origin: self.time.now(),
            time: self.time,
            interval: settings.interval,
            ends: None,
            ended: false,
        }))
    }
}

/// A simulated load in progress.
pub(crate) struct Load {
    simulation: Box<dyn Simulated>,
    time: Time,
    /// When it began.
    origin: Nanos,
    interval: Nanos,
    /// When it ends at the latest, once it was told to.
    ends: Option<Nanos>,
    ended: bool,
}

impl Load {
    pub(crate) fn now(&self) -> Nanos {
        self.time.now() - self.origin
    }

    pub(crate) fn ramp(&mut self, ramp: Ramp) {
        self.simulation.ramp(ramp);
    }

    pub(crate) fn stop(&mut self, drain: Nanos) {
        self.simulation.stop();
        self.ends = Some(self.now() + drain);
    }

    /// The next interval; `None` after the last. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> Option<Interval> {
        let closes = Nanos((self.now().0 / self.interval.0 + 1) * self.interval.0);
        // What waits for an instant beside says so first.
        crate::core::breathe().await;
        while !self.ended {
            self.time.goes_on().await;
            if self.ends.is_some_and(|ends| self.now() >= ends || self.simulation.running() == 0) {
                self.ended = true;
                return Some(self.simulation.close());
            }
            let look = self.ends.map_or(Nanos::MAX, |ends| ends.min(self.now() + CONTROL_LOOK));
            let next = closes.min(look).min((self.time.next() - self.origin).max(self.now()));
            self.simulation.advance(next);
            let woken = self.time.set(self.origin + next);
            if next == closes {
                return Some(self.simulation.close());
            }
            if woken {
                crate::core::breathe().await;
            }
        }
        None
    }
}

/// A simulation of any workload.
trait Simulated {
    /// Follows a ramp from now on.
    fn ramp(&self, ramp: Ramp);
    /// Tells every user to stop.
    fn stop(&self);
    /// Activities that have not ended.
    fn running(&self) -> usize;
    /// Moves the clock.
    fn advance(&mut self, end: Nanos);
    /// Closes the open interval.
    fn close(&self) -> Interval;
}

impl<W: Population> Simulated for Simulation<W> {
    fn ramp(&self, ramp: Ramp) {
        self.workers.iter().for_each(|worker| worker.follow_ramp(ramp));
    }

    fn stop(&self) {
        self.workers.iter().for_each(|worker| worker.deactivate_all());
    }

    fn running(&self) -> usize {
        self.workers.iter().map(|worker| worker.running()).sum()
    }

    fn advance(&mut self, end: Nanos) {
        Simulation::advance(self, end);
    }

    fn close(&self) -> Interval {
        Simulation::close(self)
    }
}
