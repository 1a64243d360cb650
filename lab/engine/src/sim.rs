//! The engine in simulated time: the same worker, a virtual clock, one thread.
//!
//! Time stands still while anything can run, then jumps to the next awaited instant. Tests therefore expect
//! exact numbers.

mod load;
mod time;

use std::cell::Cell;
use std::rc::Rc;

use barograph_model::{Level, Nanos};
use barograph_stats::Interval;
use futures::executor::LocalPool;

use crate::clock::Clock;
use crate::core::WaitSlots;
use crate::pacer::Pacer;
use crate::population::Population;
use crate::worker::{Ramp, Spawner, Worker, WorkerNumber};
use crate::{Settings, Timer, WorkerShare};

pub(crate) use load::Load;
pub use load::runnable;
pub use time::{Time, TimeHold};

/// A simulated run of one worker (or of several in lock step: see [`Settings::workers`] and
/// [`Simulation::new`]).
pub struct Simulation<W: Population> {
    pool: LocalPool,
    core: Rc<WaitSlots>,
    workers: Vec<Rc<Worker<W>>>,
    level: Level,
}

impl<W: Population> Simulation<W> {
    /// Makes all workers of a run; `workload` is called once for each with a timer for its simulated target.
    pub fn new(settings: &Settings, workload: impl FnMut(Timer) -> W) -> Self {
        Self::of_driver(settings, None, workload)
    }

    /// Makes the workers of one of several drivers; `None` for the only one.
    pub fn of_driver(
        settings: &Settings,
        place: Option<WorkerShare>,
        mut workload: impl FnMut(Timer) -> W,
    ) -> Self {
        let pool = LocalPool::new();
        let core = Rc::new(WaitSlots::new(Clock::Virtual(Cell::new(0)), Pacer::default()));
        let workers: Vec<_> = (0..settings.workers)
            .map(|nth| {
                let spawner = Spawner::Simulation(pool.spawner());
                let number = WorkerNumber::new(settings, place, nth);
                Worker::new(settings, number, workload(Timer(Rc::clone(&core))), Rc::clone(&core), spawner)
            })
            .collect();
        Simulation { pool, core, workers, level: Level::ZERO }
    }

    /// Changes the level, spread evenly over `over`, beginning now.
    pub fn ramp(&mut self, level: impl Into<Level>, over: Nanos) {
        let ramp = Ramp { before: self.level, after: level.into(), at: self.core.clock.now(), over };
        for worker in &self.workers {
            worker.follow_ramp(ramp);
        }
        self.level = ramp.after;
    }

    /// Runs for `span` of simulated time and returns what was recorded in it.
    pub fn run(&mut self, span: Nanos) -> Interval {
        self.advance(self.core.clock.now() + span);
        self.close()
    }

    /// Moves the clock to `end`, and does everything due until then.
    fn advance(&mut self, end: Nanos) {
        let Clock::Virtual(clock) = &self.core.clock else {
            unreachable!("a simulation has a virtual clock")
        };
        loop {
            self.pool.run_until_stalled();
            // Expired operations are checked as often as in a real run.
            let each = self.workers[0].settings.sweep().0;
            let sweep = Nanos((clock.get() / each + 1) * each);
            let next = self.core.pacer.earliest().unwrap_or(Nanos::MAX).min(sweep);
            if next > end {
                break;
            }
            clock.set(next.0.max(clock.get()));
            self.core.wake_due(Nanos(clock.get()));
            if next == sweep {
                self.core.expire(next);
            }
        }
        clock.set(end.0);
    }

    /// Closes the open interval of all workers.
    fn close(&self) -> Interval {
        let mut parts = self.workers.iter().map(|w| w.close(Nanos::ZERO));
        let mut sum = *parts.next().expect("a run has at least one worker");
        for part in parts {
            sum.add_worker(&part);
        }
        sum
    }
}
