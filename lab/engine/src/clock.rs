//! The only clock of a run: real time, or a number set by the simulation.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use barograph_model::Nanos;

use crate::core::WaitSlots;

/// Source of the time. Times count from the start of the load.
pub(crate) enum Clock {
    /// The machine's monotonic clock, from an instant shared by all workers.
    Real(Instant),
    /// Simulated time.
    Virtual(Cell<u64>),
}

impl Clock {
    pub(crate) fn now(&self) -> Nanos {
        match self {
            Clock::Real(origin) => Nanos::from(origin.elapsed()),
            Clock::Virtual(now) => Nanos(now.get()),
        }
    }
}

/// Lets a simulated target wait in simulated time. Workloads never get one.
#[derive(Clone)]
pub struct Timer(pub(crate) Rc<WaitSlots>);

impl Timer {
    /// Returns the simulated time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Waits until `at`.
    pub async fn until(&self, at: Nanos) {
        let slot = WaitSlots::slot(&self.0);
        slot.until(at).await;
    }
}
