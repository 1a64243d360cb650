//! Turn of an operation: random numbers, its user, and requests for other activities.

use std::cell::RefCell;
use std::rc::Rc;

use barograph_model::{BehaviourId, CounterId, Counters, Nanos, UserId};

use crate::Stream;
use crate::core::WaitSlots;
use crate::recorder::Recorder;

/// Context of an activity's operations. It has no clock: time belongs to the engine.
///
/// It is small, since each operation of tens of thousands in flight loads one into the caches.
pub struct OpContext {
    /// The activity's own random stream.
    pub rng: Stream,
    rare: Box<RareFields>,
    pub(crate) requests: u32,
    /// The user this activity belongs to.
    pub user: UserId,
    /// Argument of the activity (0 for the main behaviour).
    pub argument: u32,
    stops_others: bool,
    resets: bool,
    ends: bool,
    /// Whether the operation has added to a counter or requested a start.
    has_more: bool,
}

/// Fields that few operations use.
struct RareFields {
    /// Requested start of an activity, with its argument.
    start: Option<(BehaviourId, u32)>,
    /// Counters of the workload, from the first addition to the end of the operation.
    counters: Option<Box<Counters>>,
    /// Clock of the worker; `None` outside of a run.
    core: Option<Rc<WaitSlots>>,
}

impl RareFields {
    fn count(&mut self, recorder: &RefCell<Recorder>) {
        let Some(mut counters) = self.counters.take() else { return };
        recorder.borrow_mut().counted(&mut counters);
        if let Some(core) = &self.core {
            core.counters.borrow_mut().push(counters);
        }
    }

    /// The counters, taken from those that ended operations have left.
    fn counters(&mut self) -> &mut Counters {
        let RareFields { counters, core, .. } = self;
        let left = || core.as_ref().and_then(|core| core.counters.borrow_mut().pop());
        counters.get_or_insert_with(|| left().unwrap_or_default())
    }
}

/// Requests of an operation, carried out when it has ended.
pub(crate) struct FollowUps {
    pub(crate) start: Option<(BehaviourId, u32)>,
    pub(crate) stop_others: bool,
    pub(crate) reset: bool,
    pub(crate) end: bool,
}

impl OpContext {
    pub(crate) fn new(user: UserId, argument: u32, rng: Stream, core: Option<Rc<WaitSlots>>) -> Self {
        OpContext {
            rng,
            rare: Box::new(RareFields { start: None, counters: None, core }),
            requests: 0,
            user,
            argument,
            stops_others: false,
            resets: false,
            ends: false,
            has_more: false,
        }
    }

    /// Moves what the operation has added to counters to the recorder.
    #[inline]
    pub(crate) fn count(&mut self, recorder: &RefCell<Recorder>) {
        if self.has_more {
            self.rare.count(recorder);
        }
    }

    /// Takes the requests of the operation, and forgets that it has added to counters.
    #[inline]
    pub(crate) fn take_follow_ups(&mut self) -> FollowUps {
        let start = if std::mem::take(&mut self.has_more) { self.rare.start.take() } else { None };
        FollowUps {
            start,
            stop_others: std::mem::take(&mut self.stops_others),
            reset: std::mem::take(&mut self.resets),
            end: std::mem::take(&mut self.ends),
        }
    }

    /// Makes a turn of user 0 outside of a run, for a server that does operations of a workload.
    #[must_use]
    pub fn detached() -> Self {
        OpContext::new(UserId(0), 0, crate::stream(0, 0, 0), None)
    }

    /// Makes a turn of user 0 outside of a run, for tests of workloads.
    #[must_use]
    pub fn for_test() -> Self {
        OpContext::detached()
    }

    /// Counts one request sent to the target.
    #[inline]
    pub fn sent(&mut self) {
        self.requests += 1;
    }

    /// Adds to a counter of the workload. The amount counts when the operation ends, with any outcome.
    ///
    /// # Panics
    /// If the index is too large for any workload.
    pub fn add(&mut self, counter: CounterId, count: u64) {
        self.has_more = true;
        self.rare.counters().raise(counter, count);
    }

    /// Returns the amount that this operation has added to a counter so far.
    #[must_use]
    pub fn added(&self, counter: CounterId) -> u64 {
        self.rare.counters.as_ref().map_or(0, |counters| counters.get(counter))
    }

    /// Runs a part of an operation and adds its duration in nanoseconds to a counter of the workload. Outside
    /// of a run the duration is zero.
    ///
    /// # Panics
    /// If the index is too large for any workload.
    pub fn timed<T>(&mut self, counter: CounterId, part: impl FnOnce() -> T) -> T {
        let Some(core) = &self.rare.core else { return part() };
        let begun = core.clock.now();
        let done = part();
        let took = core.clock.now() - begun;
        self.add(counter, took.0);
        done
    }

    /// Tells the time of the worker's clock to a client below that counts durations of its own, as of connecting. Outside of
    /// a run it stands still.
    pub fn watch(&self) -> impl Fn() -> Nanos + 'static {
        let core = self.rare.core.clone();
        move || core.as_ref().map_or(Nanos::ZERO, |core| core.clock.now())
    }

    /// Waits as a part of the operation, which blocks no other. Outside of a run it returns at once. Not for users of blocking
    /// operations, whose threads have no event loop.
    pub async fn pause(&self, how_long: Nanos) {
        let Some(core) = &self.rare.core else { return };
        WaitSlots::slot(core).until(core.clock.now() + how_long).await;
    }

    /// After this operation, start an asynchronous activity of this user.
    pub fn start(&mut self, behaviour: BehaviourId, argument: u32) {
        self.has_more = true;
        self.rare.start = Some((behaviour, argument));
    }

    /// Ends all other activities of this user after this operation.
    pub fn stop_others(&mut self) {
        self.stops_others = true;
    }

    /// Restarts the user after this operation: other activities end, its state is forgotten, and the main
    /// behaviour begins a new session.
    pub fn reset(&mut self) {
        self.resets = true;
    }

    /// Ends this activity after this operation. The main activity ignores it.
    pub fn end(&mut self) {
        self.ends = true;
    }
}
