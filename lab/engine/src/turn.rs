//! What an operation is handed: random numbers, who it acts for, and a place to say what should happen beside it.

use std::rc::Rc;

use barograph_model::{BehaviourId, CounterId, Counters, Nanos, UserId};

use crate::Stream;
use crate::core::Core;

/// One activity's hand-out. Time is the engine's: it shows no clock, but for clients that count durations.
pub struct Turn {
    /// The user this activity belongs to.
    pub user: UserId,
    /// What the activity was started with (0 for the main behaviour).
    pub argument: u32,
    /// The activity's own random stream.
    pub rng: Stream,
    /// The clock of the worker; `None` outside of a run.
    core: Option<Rc<Core>>,
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
    pub(crate) fn new(user: UserId, argument: u32, rng: Stream, core: Option<Rc<Core>>) -> Self {
        let (counters, wishes) = (Counters::default(), Wishes::default());
        Turn { user, argument, rng, core, requests: 0, counters, wishes }
    }

    /// A hand-out of user 0 outside of a run, for tests of workloads.
    #[must_use]
    pub fn for_test() -> Self {
        Turn::new(UserId(0), 0, crate::stream(0, 0, 0), None)
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

    /// What this operation has added to a counter so far.
    #[must_use]
    pub fn added(&self, counter: CounterId) -> u64 {
        self.counters.get(counter)
    }

    /// Does a part of an operation and adds the time it took, in nanoseconds, to a counter of the workload. Outside of a run it
    /// takes none.
    ///
    /// # Panics
    /// When no workload can have this counter.
    pub fn timed<T>(&mut self, counter: CounterId, part: impl FnOnce() -> T) -> T {
        let Some(core) = &self.core else { return part() };
        let begun = core.clock.now();
        let done = part();
        let took = core.clock.now() - begun;
        self.counters.raise(counter, took.0);
        done
    }

    /// Tells the time of the worker's clock to a client below that counts durations of its own, as of connecting. Outside of
    /// a run it stands still.
    pub fn watch(&self) -> impl Fn() -> Nanos + 'static {
        let core = self.core.clone();
        move || core.as_ref().map_or(Nanos::ZERO, |core| core.clock.now())
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
