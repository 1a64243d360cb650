//! One activity of one user: waits for the intended start, does the operation, records it, chooses the next.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use barograph_model::{
    Behaviour, BehaviourId, ChooserId, MOST_BESIDE, MissedBeats, Nanos, NextOp, OpId, Outcome, Pace, StartOf,
    UserId,
};
use rand::RngExt;

use crate::core::{Signal, Slot, SlotKey, WaitSlots, yield_now};
use crate::draw::draw;
use crate::op_context::FollowUps;
use crate::recorder::Completion;
use crate::worker::Worker;
use crate::{OpContext, User, UserFactory};

/// Largest number of operations of an activity without a wait, before other tasks get a turn.
const OPERATIONS_IN_A_ROW: u32 = 16;

/// Longest time of an activity without a wait: blocking operations take long and never wait.
const A_WHILE: Nanos = Nanos::from_millis(10);

/// Largest number of activities of a user, more than any behaviour needs; beyond it the workload is at fault.
const MAX_ACTIVITIES: usize = 16;

/// An active user, with the state shared by its activities.
pub struct ActiveUser<U> {
    pub(crate) id: UserId,
    pub(crate) user: U,
    /// Number of its life; a user that stops and starts again draws other random numbers.
    pub(crate) life: u32,
    pub(crate) main: Cell<Option<SlotKey>>,
    pub(crate) main_in_operation: Cell<bool>,
    pub(crate) stopping: Cell<bool>,
    /// Open loop: the arrival for which this user is called.
    pub(crate) call: Cell<Option<Nanos>>,
    /// Next beat that no activity has taken, where operations start beside each other.
    next_beat: Cell<Nanos>,
    restart: Cell<bool>,
    others: RefCell<Vec<SlotKey>>,
    started: Cell<u32>,
}

impl<U> ActiveUser<U> {
    pub(crate) fn new(id: UserId, user: U, life: u32) -> Self {
        ActiveUser {
            id,
            user,
            life,
            main: Cell::new(None),
            main_in_operation: Cell::new(false),
            stopping: Cell::new(false),
            call: Cell::new(None),
            next_beat: Cell::default(),
            restart: Cell::new(false),
            others: RefCell::new(Vec::new()),
            started: Cell::new(0),
        }
    }

    /// Returns the number of the random stream for the next activity of this user.
    pub(crate) fn next_stream(&self) -> u32 {
        let n = self.started.get();
        self.started.set(n + 1);
        // Lives are far apart, so that no two share a stream.
        self.life.wrapping_mul(1 << 20).wrapping_add(n)
    }

    /// Takes the next beat; those before `least` are left out. Returns its instant and the number left out.
    fn take_beat(&self, every: Nanos, least: Nanos) -> (Nanos, u64) {
        let (every, next) = (every.0.max(1), self.next_beat.get());
        let left_out = (least - next).0.div_ceil(every);
        let taken = next + Nanos(left_out * every);
        self.next_beat.set(taken + Nanos(every));
        (taken, left_out)
    }

    /// Ends all activities except the main one and `asking`.
    pub(crate) fn stop_others(&self, core: &WaitSlots, asking: Option<SlotKey>) {
        // They leave the list at once, so that new activities find room.
        self.others.borrow_mut().retain(|key| {
            let stays = Some(*key) == asking;
            if !stays {
                core.signal(*key, Signal::Cancel);
            }
            stays
        });
    }
}

/// Parameters of a new activity.
pub(crate) struct ActivityStart {
    pub(crate) behaviour: BehaviourId,
    pub(crate) argument: u32,
    pub(crate) first_at: Nanos,
}

/// Starts an activity in addition to the main one.
fn start_other<W: UserFactory>(worker: &Rc<Worker<W>>, seat: &Rc<ActiveUser<W::User>>, begin: ActivityStart) {
    if seat.stopping.get() || seat.others.borrow().len() >= MAX_ACTIVITIES {
        return;
    }
    let slot = WaitSlots::slot(&worker.core);
    let key = slot.key;
    seat.others.borrow_mut().push(key);
    let (worker2, seat2) = (Rc::clone(worker), Rc::clone(seat));
    worker.spawn(async move {
        run(&worker2, &seat2, slot, begin).await;
        seat2.others.borrow_mut().retain(|k| *k != key);
    });
}

/// Starts the activities beside the main one on its beats, at most `most` with it. Returns the first beat.
fn start_beside<W: UserFactory>(
    worker: &Rc<Worker<W>>,
    seat: &Rc<ActiveUser<W::User>>,
    (every, most): (Nanos, u32),
    from: Nanos,
) -> Nanos {
    let first = from + phase(every, seat.id);
    seat.next_beat.set(first + every);
    for argument in 1..most {
        let (first_at, _) = seat.take_beat(every, Nanos::ZERO);
        start_other(worker, seat, ActivityStart { behaviour: BehaviourId(0), argument, first_at });
    }
    first
}

/// Runs an activity until its end, or until a request to end.
pub(crate) async fn run<W: UserFactory>(
    worker: &Rc<Worker<W>>,
    seat: &Rc<ActiveUser<W::User>>,
    slot: Slot,
    begin: ActivityStart,
) {
    // Activities beside the main one on its beats have its behaviour and a number.
    let is_main = begin.behaviour.0 == 0 && begin.argument == 0;
    let gate = worker.gate.as_ref().filter(|_| is_main);
    let behaviours = std::sync::Arc::clone(&worker.settings.behaviours);
    let behaviour = behaviours.get(begin.behaviour);
    let rng = crate::draw::stream(worker.settings.seed, seat.id.0, seat.next_stream());
    let mut context = OpContext::new(seat.id, begin.argument, rng, Some(Rc::clone(&worker.core)));
    let (mut op, mut intended) = (behaviour.first, begin.first_at);
    let beside = beside(behaviour).filter(|_| worker.gate.is_none());
    if let Some(beats) = beside.filter(|_| is_main) {
        intended = start_beside(worker, seat, beats, begin.first_at);
    }
    // In an open loop a user becomes active for an arrival, which is its first call.
    let (mut called, mut first) = (true, true);
    // Latest reading of the clock, which serves for everything due by then.
    let (mut rest, mut now) = (Rest::default(), Nanos::ZERO);
    loop {
        let waits = match gate.filter(|_| !called) {
            Some(gate) => match call(gate, seat, &slot).await {
                Some(call) => {
                    intended = call.at;
                    !call.waited
                }
                None => break,
            },
            None => {
                let waits =
                    (first && gate.is_some()) || (intended > now && intended > worker.core.clock.now());
                let goes_on = if intended <= now { slot.goes_on() } else { slot.until(intended).await };
                if !goes_on {
                    break;
                }
                waits
            }
        };
        first = false;
        if !worker.starts.take(&worker.core.clock) {
            break;
        }
        if is_main {
            // The user may have been reset while this activity waited.
            if seat.restart.take() {
                op = behaviour.first;
            }
            seat.main_in_operation.set(true);
        }
        let (outcome, ended) = operate(worker, seat, &slot, Due { op, intended, waits }, &mut context).await;
        now = ended;
        if is_main {
            seat.main_in_operation.set(false);
        }
        let wishes = context.take_follow_ups();
        // A follower that reset the user belongs to the session that ended.
        let ending = (wishes.end || wishes.reset) && !is_main;
        grant(worker, seat, &wishes, Requester { key: slot.key, now: ended });
        if ending || slot.cancelled() || (is_main && seat.stopping.get()) {
            break;
        }
        let then = follow(behaviour, op, &mut &seat.user, &mut context);
        called = gate.is_some_and(|g| g.start_of == StartOf::Session && !then.session_over && !wishes.reset);
        if gate.is_none() || called {
            let after_failure = worker.settings.pause_after_failure;
            let pace = Pacing { pace: &behaviour.pace, after_failure, ended: op, next: then.op };
            intended = next_start(worker, seat, (beside, pace), (intended, ended, outcome), &mut context);
        }
        op = then.op;
        // An activity that never waits would block all others, and the loop itself.
        if rest.is_due(&slot, now) {
            // The loop reads the clock only once in many tasks.
            worker.core.wake_due(now);
            yield_now().await;
        }
    }
}

/// The intended start of the operation after one that ended. Beats that are left out are counted as skipped.
fn next_start<W: UserFactory>(
    worker: &Worker<W>,
    seat: &ActiveUser<W::User>,
    (beside, pace): (Option<(Nanos, u32)>, Pacing<'_>),
    (intended, ended, outcome): (Nanos, Nanos, Outcome),
    context: &mut OpContext,
) -> Nanos {
    let (next, skipped) = match beside {
        // A beat older than this would time out if its wait counted.
        Some((every, _)) => seat.take_beat(every, ended - worker.settings.timeout),
        None => due(pace, (intended, ended), outcome, context),
    };
    if skipped > 0 {
        worker.recorder.borrow_mut().skipped(skipped);
    }
    next
}

/// Distance of the beats of a behaviour, and most operations in flight, where they start beside each other.
fn beside(behaviour: &Behaviour) -> Option<(Nanos, u32)> {
    match behaviour.pace {
        Pace::Beat { every, missed: MissedBeats::Beside { most } } => {
            Some((every, most.clamp(1, MOST_BESIDE)))
        }
        _ => None,
    }
}

/// Time from a user's beginning to its first beat: multiples of the golden ratio spread any number of users evenly.
fn phase(every: Nanos, user: UserId) -> Nanos {
    const GOLDEN: u32 = 2_654_435_769;
    let part = user.0.wrapping_mul(GOLDEN);
    Nanos(((u128::from(every.0) * u128::from(part)) >> 32) as u64)
}

/// Progress of an activity since its last wait.
#[derive(Default)]
struct Rest {
    in_a_row: u32,
    waits: u32,
    since: Nanos,
}

impl Rest {
    /// Whether other tasks should get a turn, after an operation that ended at `now`.
    fn is_due(&mut self, slot: &Slot, now: Nanos) -> bool {
        let waits = slot.waits();
        if waits != self.waits {
            *self = Rest { in_a_row: 0, waits, since: now };
            return false;
        }
        self.in_a_row += 1;
        let is_due = self.in_a_row >= OPERATIONS_IN_A_ROW || now - self.since >= A_WHILE;
        if is_due {
            self.since = now;
        }
        is_due
    }
}

/// An arrival for which a user was called.
struct Call {
    at: Nanos,
    /// Whether it waited for a free user: then its delay is not the driver's.
    waited: bool,
}

/// Waits for the next arrival of an open loop. `None` if told to end.
async fn call<U>(
    gate: &crate::dispatcher::Dispatcher<U>,
    seat: &Rc<ActiveUser<U>>,
    slot: &Slot,
) -> Option<Call> {
    if let Some(at) = gate.take_waiting() {
        return Some(Call { at, waited: true });
    }
    gate.set_free(seat, slot.key);
    slot.called(&seat.call).await.map(|at| Call { at, waited: false })
}

/// A due operation.
struct Due {
    op: OpId,
    intended: Nanos,
    /// Whether it waited for its intended start. Only then can the driver be late.
    waits: bool,
}

/// Does one operation and records it.
async fn operate<W: UserFactory>(
    worker: &Worker<W>,
    seat: &ActiveUser<W::User>,
    slot: &Slot,
    due: Due,
    context: &mut OpContext,
) -> (Outcome, Nanos) {
    let Due { op, intended, waits } = due;
    let started = worker.core.clock.now();
    worker.recorder.borrow_mut().started(started, waits.then_some(intended));
    let end = {
        let work = std::pin::pin!(seat.user.act(op, context));
        slot.guard(started + worker.settings.timeout, work).await
    };
    let ended = worker.core.clock.now();
    let outcome = match end {
        // An answer beyond the time limit is late even if the check for expired operations has not run yet.
        Ok(outcome) if ended - started <= worker.settings.timeout => outcome,
        Ok(_) | Err(Signal::Expired) => Outcome::TimedOut,
        Err(_) => Outcome::Cancelled,
    };
    let requests = std::mem::take(&mut context.requests);
    worker.recorder.borrow_mut().ended(&Completion { op, intended, started, ended, outcome, requests }, 1);
    context.count(&worker.recorder);
    (outcome, ended)
}

/// The requesting activity, and the time of the request.
#[derive(Clone, Copy)]
struct Requester {
    key: SlotKey,
    now: Nanos,
}

/// Starts and ends activities as an operation requested.
fn grant<W: UserFactory>(
    worker: &Rc<Worker<W>>,
    seat: &Rc<ActiveUser<W::User>>,
    wishes: &FollowUps,
    asking: Requester,
) {
    if wishes.reset {
        seat.stop_others(&worker.core, Some(asking.key));
        seat.user.end_session();
        seat.restart.set(true);
    } else if wishes.stop_others {
        seat.stop_others(&worker.core, Some(asking.key));
    }
    if let Some((behaviour, argument)) = wishes.start {
        start_other(worker, seat, ActivityStart { behaviour, argument, first_at: asking.now });
    }
}

/// Successor of an operation.
pub(crate) struct Successor {
    pub(crate) op: OpId,
    /// Whether the session ends between the two.
    pub(crate) session_over: bool,
}

/// State of a user, as far as the next operation depends on it.
pub(crate) trait Memory {
    fn choose(&mut self, chooser: ChooserId, context: &mut OpContext) -> usize;
    fn end_session(&mut self);
}

impl<U: User> Memory for &U {
    fn choose(&mut self, chooser: ChooserId, context: &mut OpContext) -> usize {
        User::choose(*self, chooser, context)
    }

    fn end_session(&mut self) {
        User::end_session(*self);
    }
}

/// Chooses the operation after `op`.
#[inline]
pub(crate) fn follow(
    behaviour: &Behaviour,
    op: OpId,
    memory: &mut impl Memory,
    context: &mut OpContext,
) -> Successor {
    let go_on = |op| Successor { op, session_over: false };
    let mut next = behaviour.next[op.index()].as_ref().expect("checked when the behaviours were made");
    loop {
        match next {
            NextOp::Op(op) => return go_on(*op),
            NextOp::Vector(vector) => return go_on(vector.pick(context.rng.random())),
            NextOp::EndSession { first } => {
                memory.end_session();
                return Successor { op: *first, session_over: true };
            }
            NextOp::Choose { chooser, branches } => {
                let branch = memory.choose(*chooser, context);
                next = &branches[branch.min(branches.len() - 1)];
            }
        }
    }
}

/// Pace of a behaviour, and pause after a failure if it has none.
#[derive(Clone, Copy)]
pub(crate) struct Pacing<'b> {
    pub(crate) pace: &'b Pace,
    pub(crate) after_failure: Nanos,
    /// The operation that ended.
    pub(crate) ended: OpId,
    /// The following operation.
    pub(crate) next: OpId,
}

/// Returns the intended start of the next operation, and the number of beats left out before it.
#[inline]
pub(crate) fn due(
    pacing: Pacing<'_>,
    (intended, ended): (Nanos, Nanos),
    outcome: Outcome,
    context: &mut OpContext,
) -> (Nanos, u64) {
    match pacing.pace {
        Pace::AtOnce if outcome.is_failure() => (ended + pacing.after_failure, 0),
        Pace::AtOnce => (ended, 0),
        Pace::Cycle(cycle) => ((intended + draw(cycle, &mut context.rng)).max(ended), 0),
        Pace::CycleByOperation(cycles) => {
            ((intended + draw(&cycles[pacing.ended.index()], &mut context.rng)).max(ended), 0)
        }
        Pace::Think(think) => (ended + draw(think, &mut context.rng), 0),
        Pace::ByOperation(waits) => {
            let (after, before) = (&waits[pacing.ended.index()].after, waits[pacing.next.index()].before);
            (ended + draw(after, &mut context.rng) + before, 0)
        }
        Pace::Beat { every, missed: MissedBeats::CatchUp | MissedBeats::Beside { .. } } => {
            (intended + *every, 0)
        }
        Pace::Beat { every, missed: MissedBeats::Skip } => {
            let every = every.0.max(1);
            let beats = (ended - intended).0.div_ceil(every).max(1);
            (intended + Nanos(beats * every), beats - 1)
        }
    }
}
