//! The seam to users: how to do one operation, and what the engine needs to schedule them.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use barograph_model::{Behaviours, ChooserId, Nanos, OpId, OpenLoop, Outcome, TimeLimits, UserId};

use crate::OpContext;

/// Shortest time between two checks for expired operations, each of which visits every user.
const LEAST_SWEEP: Nanos = Nanos::from_millis(5);
/// Longest time between two checks for expired operations.
const MOST_SWEEP: Nanos = Nanos::from_millis(100);

/// Makes the users of one workload. One value per worker; nothing in it is shared.
pub trait UserFactory: 'static {
    /// One simulated user of this workload.
    type User: User;

    /// Makes the user with this order number. Called when the user becomes active.
    fn user(&self, id: UserId) -> Self::User;
}

/// A simulated user: its connections and its state. Its activities share it on one thread, so it uses cells
/// for changes.
pub trait User: 'static {
    /// Does one operation and returns its outcome. It may be dropped at any await (time-out, stop); a
    /// connection in use must then not serve another operation.
    fn act(&self, op: OpId, context: &mut OpContext) -> impl Future<Output = Outcome>;

    /// Answers a question about the user's state with the index of a branch. Never called if behaviours have
    /// no choosers.
    fn choose(&self, chooser: ChooserId, context: &mut OpContext) -> usize {
        let _ = (chooser, context);
        0
    }

    /// Forgets the state of a session that ended; connections stay.
    fn end_session(&self) {}
}

/// Settings of the engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads.
    pub workers: usize,
    /// Seed of all randomness. The same seed gives the same choices with any number of workers.
    pub seed: u64,
    /// Behaviours of the users.
    pub behaviours: Arc<Behaviours>,
    /// Limits of time per operation, by index; operations over each are counted.
    pub limits: Vec<TimeLimits>,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Time after which an operation without an answer times out. Noticed within a tenth of it, and within a
    /// second.
    pub timeout: Nanos,
    /// Pause after a failed operation of a behaviour without a pace of its own. Without a pause, a target
    /// that refuses at once gets requests as fast as the driver can send them.
    pub pause_after_failure: Nanos,
    /// Worker threads are scheduled in real time, where [permitted](crate::realtime_is_permitted).
    pub realtime: bool,
    /// Cores that worker threads run on, where [permitted](crate::cores_are_permitted); empty for all.
    pub cores: Vec<usize>,
    /// Time before a due start for which a worker polls instead of sleeping: a sleeping core can be woken late.
    pub poll: Nanos,
    /// Arrivals from outside; `None` for a closed loop, in which users start operations themselves.
    pub open: Option<OpenLoop>,
}

impl Settings {
    /// Returns the interval between checks for expired operations.
    pub(crate) fn sweep(&self) -> Nanos {
        Nanos(self.timeout.0 / 10).clamp(LEAST_SWEEP, MOST_SWEEP)
    }
}

/// Place of a driver's workers among those of all drivers of a run. Together they make the choices that one
/// driver with all the workers would make: users and arrivals are dealt to workers by number, on any
/// driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerShare {
    /// Number of workers of the drivers before this one.
    pub first: usize,
    /// Number of workers of all drivers.
    pub total: usize,
}

/// Start and place of a driver in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadStart {
    /// Start of the load's clock; it may be in the future, and the clock is zero until then. `None` is now.
    pub origin: Option<Instant>,
    /// Place of the driver; `None` for the only one.
    pub place: Option<WorkerShare>,
}
