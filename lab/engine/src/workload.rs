//! The seam to users: how to do one operation, and what the engine needs to know to schedule them.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use barograph_model::{Behaviours, ChooserId, Nanos, OpId, OpenLoop, Outcome, TimeLimits, UserId};

use crate::Turn;

/// Bounds of the time between two looks for operations that have waited too long: each costs a look at every user.
const LEAST_SWEEP: Nanos = Nanos::from_millis(5);
const MOST_SWEEP: Nanos = Nanos::from_millis(100);

/// Makes the users of one workload. One value per worker; nothing in it is shared.
pub trait UserFactory: 'static {
    /// One simulated user of this workload.
    type User: User;

    /// Makes the user with this order number. Called when the user becomes active.
    fn user(&self, id: UserId) -> Self::User;
}

/// One simulated user: its connections and what it remembers. Its activities share it, so it changes itself
/// through cells; all of them run on one thread.
pub trait User: 'static {
    /// Does one operation and says how it ended. It may be dropped at any await (time-out, stop); whatever it
    /// holds must then not be used again for another operation.
    fn act(&self, op: OpId, turn: &mut Turn) -> impl Future<Output = Outcome>;

    /// Answers a question about the user's state with the index of a branch. Never called where behaviours have no choosers.
    fn choose(&self, chooser: ChooserId, turn: &mut Turn) -> usize {
        let _ = (chooser, turn);
        0
    }

    /// The session is over: forget its state, keep connections.
    fn end_session(&self) {}
}

/// What the engine is told before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads.
    pub workers: usize,
    /// Start of all randomness. The same seed gives the same choices whatever the number of workers.
    pub seed: u64,
    /// What users do, by behaviour.
    pub behaviours: Arc<Behaviours>,
    /// Limits of time per operation, by index; used to count operations over each.
    pub limits: Vec<TimeLimits>,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// An operation without an answer for this long is timed out. Noticed within a tenth of it, and of a second.
    pub timeout: Nanos,
    /// The pause after a failed operation of a behaviour without a pace of its own. Without one a target that refuses at
    /// once gets requests as fast as the driver can send them.
    pub pause_after_failure: Nanos,
    /// Starts that come from outside; `None` for a closed loop, in which users start operations themselves.
    pub open: Option<OpenLoop>,
}

impl Settings {
    /// How often operations that have waited too long are looked for.
    pub(crate) fn sweep(&self) -> Nanos {
        Nanos(self.timeout.0 / 10).clamp(LEAST_SWEEP, MOST_SWEEP)
    }
}

/// Where the workers of a driver stand among those of all drivers of a run. Together they make the choices that one driver
/// with all the workers would make: users and arrivals are dealt out to workers by number, whoever they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Workers of the drivers before this one.
    pub first: usize,
    /// Workers of all drivers.
    pub total: usize,
}

/// When and as which driver of a run a load begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning {
    /// From where the load's clock counts; it may lie ahead, and stands at zero until then. `None` is now.
    pub origin: Option<Instant>,
    /// `None` for the only driver.
    pub place: Option<Place>,
}
