//! What an operation is handed: random numbers, who it acts for, and a place to say what should happen beside it.

use barograph_model::{BehaviourId, CounterId, Counters, UserId};

use crate::Stream;

/// One activity's hand-out. It has no clock: time is the engine's.
pub struct Turn {
    /// The user this activity belongs to.
    pub user: UserId,
    /// What the activity was started with (0 for the main behaviour).
    pub argument: u32,
    /// The activity's own random stream.
    pub rng: Stream,
    pub(crate) requests: u32,
    pub(crate) counters: Counters,
    pub(crate) wishes: Wishes,
}

/// What an operation asked the engine to do once it has ended.
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) start: Option<(BehaviourId, u32)>,
    pub(crate) stop_others: bool,
    pub(crate) reset: bool,
    pub(crate) end: bool,
}

impl Turn {
    pub(crate) fn new(user: UserId, argument: u32, rng: Stream) -> Self {
        Turn { user, argument, rng, requests: 0, counters: Counters::default(), wishes: Wishes::default() }
    }

    /// A hand-out of user 0 outside of a run, for tests of workloads.
    #[must_use]
    pub fn for_test() -> Self {
        Turn::new(UserId(0), 0, crate::stream(0, 0, 0))
    }

    /// Counts one request sent to the target.
    pub fn sent(&mut self) {
        self.requests += 1;
    }

    /// Adds to a counter of the workload. What an operation adds counts when it ends, whatever its outcome.
    ///
    /// # Panics
    /// When no workload can have this counter.
    pub fn add(&mut self, counter: CounterId, count: u64) {
        self.counters.raise(counter, count);
    }

    /// After this operation, start an asynchronous activity of this user.
    pub fn start(&mut self, behaviour: BehaviourId, argument: u32) {
        self.wishes.start = Some((behaviour, argument));
    }

    /// After this operation, end all other activities of this user.
    pub fn stop_others(&mut self) {
        self.wishes.stop_others = true;
    }

    /// After this operation, start the user over: other activities end, its state is forgotten, the main behaviour
    /// begins a new session.
    pub fn reset(&mut self) {
        self.wishes.reset = true;
    }

    /// After this operation, end this activity. The main activity does not end this way.
    pub fn end(&mut self) {
        self.wishes.end = true;
    }
}
