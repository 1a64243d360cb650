//! A load in simulated time with the same handle as a real one: intervals on the same grid, the same notice
//! of changes.

use std::sync::Arc;

use barograph_model::Nanos;
use barograph_stats::Interval;

use super::{Simulation, Time};
use crate::handle::CONTROL_LOOK;
use crate::population::Population;
use crate::quota::Quota;
use crate::worker::Ramp;
use crate::{EngineError, EngineHandle, LoadStart, Runnable, Settings, Timer};

/// Erases a workload's type for a simulated load. `make` is called once for each worker with a timer for its
/// simulated target.
pub fn runnable<W, F>(time: &Time, make: F) -> Box<dyn Runnable>
where
    W: Population,
    F: FnMut(Timer) -> W + Send + 'static,
{
    Box::new(SimulatedLoad { time: time.clone(), make })
}

struct SimulatedLoad<F> {
    time: Time,
    make: F,
}

impl<W, F> Runnable for SimulatedLoad<F>
where
    W: Population,
    F: FnMut(Timer) -> W + Send + 'static,
{
    fn begin(
        self: Box<Self>,
        settings: &Settings,
        beginning: LoadStart,
    ) -> Result<EngineHandle, EngineError> {
        let simulation = Simulation::of_driver(settings, beginning.place, self.make);
        Ok(EngineHandle::simulated(Load {
            simulation: Box::new(simulation),
            origin: self.time.now(),
            time: self.time,
            interval: settings.interval,
            ends: None,
            looks: false,
            ended: false,
        }))
    }
}

/// A simulated load in progress.
pub(crate) struct Load {
    simulation: Box<dyn AnySimulation>,
    time: Time,
    /// Start of the load.
    origin: Nanos,
    interval: Nanos,
    /// Latest end, once it was stopped or no operation of a quota is left.
    ends: Option<Nanos>,
    /// Whether it checks for its end.
    looks: bool,
    ended: bool,
}

impl Load {
    pub(crate) fn now(&self) -> Nanos {
        self.time.now() - self.origin
    }

    pub(crate) fn ramp(&mut self, ramp: Ramp) {
        self.simulation.ramp(ramp);
    }

    pub(crate) fn workers(&self) -> usize {
        self.simulation.workers()
    }

    pub(crate) fn limit(&mut self, quota: &Arc<Quota>) {
        self.simulation.limit(quota);
        self.looks = true;
    }

    pub(crate) fn stop(&mut self, drain: Nanos) {
        self.simulation.give_up();
        self.simulation.stop();
        self.ends = Some(self.now() + drain);
        self.looks = true;
    }

    /// Waits for the next interval; `None` after the last. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<Interval> {
        let closes = Nanos((self.now().0 / self.interval.0 + 1) * self.interval.0);
        // Other waits for an instant register first.
        crate::core::yield_now().await;
        while !self.ended {
            self.time.goes_on().await;
            if self.ends.is_none() && self.simulation.is_spent() {
                self.simulation.stop();
                self.ends = Some(Nanos::MAX);
            }
            if self.ends.is_some_and(|ends| self.now() >= ends || self.simulation.has_stopped()) {
                self.ended = true;
                return Some(self.simulation.close());
            }
            let look = if self.looks { self.now() + CONTROL_LOOK } else { Nanos::MAX };
            let look = look.min(self.ends.unwrap_or(Nanos::MAX));
            let next = closes.min(look).min((self.time.next() - self.origin).max(self.now()));
            self.simulation.advance(next);
            let woken = self.time.set(self.origin + next);
            if next == closes {
                return Some(self.simulation.close());
            }
            if woken {
                crate::core::yield_now().await;
            }
        }
        None
    }
}

/// A simulation of any workload.
trait AnySimulation {
    /// Follows a ramp from now on.
    fn ramp(&self, ramp: Ramp);
    /// Tells every user to stop.
    fn stop(&self);
    /// Returns the number of workers.
    fn workers(&self) -> usize;
    /// Ends the load after the operations of a quota.
    fn limit(&self, quota: &Arc<Quota>);
    /// Stops waiting for the operations of a quota.
    fn give_up(&self);
    /// Whether no worker has an operation of the quota left to begin.
    fn is_spent(&self) -> bool;
    /// Whether every worker has stopped.
    fn has_stopped(&self) -> bool;
    /// Moves the clock.
    fn advance(&mut self, end: Nanos);
    /// Closes the open interval.
    fn close(&self) -> Interval;
}

impl<W: Population> AnySimulation for Simulation<W> {
    fn ramp(&self, ramp: Ramp) {
        self.workers.iter().for_each(|worker| worker.follow_ramp(ramp));
    }

    fn stop(&self) {
        self.workers.iter().for_each(|worker| worker.deactivate_all());
    }

    fn workers(&self) -> usize {
        self.workers.len()
    }

    fn limit(&self, quota: &Arc<Quota>) {
        self.workers.iter().for_each(|worker| worker.limit(quota));
    }

    fn give_up(&self) {
        self.workers.iter().for_each(|worker| worker.give_up());
    }

    fn is_spent(&self) -> bool {
        self.workers.iter().all(|worker| worker.is_spent())
    }

    fn has_stopped(&self) -> bool {
        // Each worker reports its end.
        self.workers.iter().filter(|worker| !worker.has_stopped()).count() == 0
    }

    fn advance(&mut self, end: Nanos) {
        Simulation::advance(self, end);
    }

    fn close(&self) -> Interval {
        Simulation::close(self)
    }
}
