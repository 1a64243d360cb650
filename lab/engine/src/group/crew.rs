//! The task of a group: begins due operations, records those that ended, and chooses each member's next one.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use barograph_model::{BehaviourId, Behaviours, ChooserId, Nanos, OpId, Outcome, StartOf};

use super::{EntryQueue, Group, GroupFactory, Groups, Members};
use crate::OpContext;
use crate::activity::{ActiveUser, Memory, Pacing, due, follow};
use crate::core::{Signal, Slot, WaitSlots};
use crate::recorder::{Batch, Completion};
use crate::worker::Worker;

/// Rounds of a group, each for one read, before other tasks get a turn.
const ROUNDS_IN_A_ROW: usize = 8;

/// Place of the group itself in its inbox.
const THE_GROUP: u32 = u32::MAX;

/// A user of a group. Members lie side by side, so they hold little besides what every operation uses.
pub(crate) struct Member {
    intended: Nanos,
    started: Nanos,
    /// Operation in flight, or the next one.
    op: OpId,
    state: State,
    /// Whether it waits for its intended start. Only then can the driver be late.
    waits: bool,
    /// Whether its next operation is the first of its behaviour.
    restarts: bool,
    /// Whether it leaves after its operation.
    leaves: bool,
    pub(crate) context: OpContext,
    seat: Box<Seat>,
}

/// The place of a member in its group and its worker.
pub(crate) struct Seat {
    pub(crate) user: Rc<ActiveUser<()>>,
    pub(crate) slot: Slot,
    pub(crate) place: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for the intended start of its next operation.
    Waiting,
    /// Waits for an arrival of an open loop, or to be told to leave.
    Free,
    /// Its operation begins in this round.
    Ready,
    InFlight,
}

impl Member {
    pub(crate) fn new(seat: Seat, context: OpContext, intended: Nanos) -> Self {
        Member {
            intended,
            started: Nanos::ZERO,
            op: OpId(0),
            state: State::Waiting,
            waits: false,
            restarts: false,
            leaves: false,
            context,
            seat: Box::new(seat),
        }
    }

    /// Bits of fields that are far apart, so that reading them loads all of it.
    #[inline]
    pub(super) fn some_bits(&self) -> u64 {
        self.intended.0 ^ u64::from(self.context.user.0) ^ u64::from(self.op.0)
    }
}

/// A group with its members and their worker.
pub(crate) struct Crew<F: GroupFactory> {
    worker: Rc<Worker<Groups<F>>>,
    door: Rc<EntryQueue>,
    group: F::Group,
    members: Members,
    /// Members whose operations begin next.
    ready: Vec<u32>,
    /// Operations that ended and are not recorded.
    batch: Batch,
    /// Slot for the deadline of operations.
    slot: Slot,
    /// Whether the slot has a deadline: that of the first operation begun since the last check.
    has_deadline: bool,
    behaviours: Arc<Behaviours>,
}

impl<F: GroupFactory> Crew<F> {
    pub(crate) fn new(worker: &Rc<Worker<Groups<F>>>, door: &Rc<EntryQueue>, group: F::Group) -> Self {
        let mut members = Members::default();
        members.places.resize_with(door.size, || None);
        Crew {
            worker: Rc::clone(worker),
            door: Rc::clone(door),
            group,
            members,
            ready: Vec::new(),
            batch: Batch::default(),
            slot: WaitSlots::slot_of_member(&worker.core, &door.inbox, THE_GROUP),
            has_deadline: false,
            behaviours: Arc::clone(&worker.settings.behaviours),
        }
    }

    /// Makes all possible progress; ready when the last member has left.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.exchange_lists();
        let polled = self.go_on_in_rounds(cx);
        self.exchange_lists();
        polled
    }

    /// Takes the lists of the worker, or returns them. A list that is not empty stays.
    fn exchange_lists(&mut self) {
        let mut lists = self.worker.population.lists.borrow_mut();
        if self.ready.is_empty() {
            std::mem::swap(&mut self.ready, &mut lists.ready);
        }
        std::mem::swap(&mut self.members.ends, &mut lists.ends);
        std::mem::swap(&mut self.batch, &mut lists.batch);
    }

    fn go_on_in_rounds(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.door.inbox.listen(cx);
        for _ in 0..ROUNDS_IN_A_ROW {
            self.admit();
            self.take_signals();
            if self.door.is_empty() {
                return Poll::Ready(());
            }
            self.begin();
            self.group.poll(cx, &mut self.members);
            if self.members.ends.is_empty() {
                return Poll::Pending;
            }
            self.end();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Admits new members.
    fn admit(&mut self) {
        loop {
            let Some(mut member) = self.door.coming.borrow_mut().pop() else { return };
            let place = member.seat.place as usize;
            member.op = self.behaviours.get(BehaviourId(0)).first;
            self.group.join(place, member.seat.user.id);
            self.members.places[place] = Some(member);
            let is_called = self.worker.gate.is_some();
            self.schedule(place, self.worker.core.clock.now());
            self.members.at(place).waits |= is_called;
        }
    }

    /// Handles the signals of members and of the group.
    fn take_signals(&mut self) {
        while let Some(place) = self.door.inbox.take() {
            let now = self.worker.core.clock.now();
            if place == THE_GROUP {
                self.expire(now);
                continue;
            }
            let place = place as usize;
            // A signal may outlive its member.
            let Some(member) = &mut self.members.places[place] else { continue };
            match (member.seat.slot.signal_of_member(), member.state) {
                (Signal::Cancel, State::InFlight) => member.leaves = true,
                (Signal::Cancel, _) => self.leave(place),
                (Signal::Due, State::Free) => {
                    if let Some(at) = member.seat.user.call.take() {
                        (member.intended, member.waits) = (at, true);
                        self.make_ready(place);
                    }
                }
                (Signal::Due, State::Waiting) if member.intended <= now => self.make_ready(place),
                _ => {}
            }
        }
    }

    /// Gives up operations beyond the time limit.
    fn expire(&mut self, now: Nanos) {
        self.slot.signal_of_member();
        let timeout = self.worker.settings.timeout;
        let mut next = Nanos::MAX;
        for place in 0..self.members.places.len() {
            let Some(member) = &self.members.places[place] else { continue };
            let deadline = member.started + timeout;
            match member.state {
                State::InFlight if deadline <= now => {
                    self.group.abandon(place);
                    self.end_one(place, Outcome::TimedOut, now);
                }
                State::InFlight => next = next.min(deadline),
                _ => {}
            }
        }
        self.record();
        self.slot.expires_at(next);
        self.has_deadline = next < Nanos::MAX;
    }

    /// Begins due operations.
    fn begin(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let started = self.worker.core.clock.now();
        if !std::mem::replace(&mut self.has_deadline, true) {
            self.slot.expires_at(started + self.worker.settings.timeout);
        }
        let behaviour = self.behaviours.get(BehaviourId(0));
        let mut recorder = self.worker.recorder.borrow_mut();
        for place in self.ready.drain(..) {
            let place = place as usize;
            let Some(member) = &mut self.members.places[place] else { continue };
            if member.state != State::Ready {
                continue;
            }
            if !self.worker.starts.take(&self.worker.core.clock) {
                // It ends when all users of this worker have ended.
                member.state = State::Free;
                continue;
            }
            // Read before its neighbours are written: reading it after them would wait for the writes.
            let op = if std::mem::take(&mut member.restarts) { behaviour.first } else { member.op };
            member.op = op;
            member.state = State::InFlight;
            member.started = started;
            recorder.started(started, member.waits.then_some(member.intended));
            self.group.begin(place, op, &mut member.context);
        }
    }

    /// Records the operations that ended, and schedules their successors.
    fn end(&mut self) {
        let ended = self.worker.core.clock.now();
        let mut ends = std::mem::take(&mut self.members.ends);
        self.members.fetch(&ends);
        for (place, outcome) in ends.drain(..) {
            self.end_one(place as usize, outcome, ended);
        }
        self.members.ends = ends;
        self.record();
    }

    /// Records the operations that ended.
    fn record(&mut self) {
        let mut recorder = self.worker.recorder.borrow_mut();
        self.batch.finish(&mut recorder);
        recorder.counted(&mut self.members.counters);
    }

    fn end_one(&mut self, place: usize, outcome: Outcome, ended: Nanos) {
        let member = self.members.at(place);
        if member.state != State::InFlight {
            return;
        }
        member.state = State::Waiting;
        let context = &mut member.context;
        let requests = std::mem::take(&mut context.requests);
        let (op, intended, started) = (member.op, member.intended, member.started);
        // An answer beyond the time limit is late even if the check for expired operations has not run yet.
        let is_late = ended - started > self.worker.settings.timeout;
        let outcome = if is_late { Outcome::TimedOut } else { outcome };
        let leaves = member.leaves;
        context.count(&self.worker.recorder);
        let done = Completion { op, intended, started, ended, outcome, requests };
        self.batch.add(done, &self.worker.recorder);
        if leaves {
            self.leave(place);
        } else {
            self.go_on(place, outcome, ended);
        }
    }

    /// Chooses a member's next operation and its time.
    fn go_on(&mut self, place: usize, outcome: Outcome, ended: Nanos) {
        let behaviour = self.behaviours.get(BehaviourId(0));
        let member = self.members.places[place].as_mut().expect("it has just ended an operation");
        let resets = member.context.take_follow_ups().reset;
        let mut memory = MemberContext { group: &mut self.group, place };
        if resets {
            memory.end_session();
            member.restarts = true;
        }
        let then = follow(behaviour, member.op, &mut memory, &mut member.context);
        let before = std::mem::replace(&mut member.op, then.op);
        let gate = self.worker.gate.as_ref();
        let over = then.session_over || resets;
        let goes_on = gate.is_some_and(|gate| gate.start_of == StartOf::Session && !over);
        if gate.is_some() && !goes_on {
            return self.call(place);
        }
        let after_failure = self.worker.settings.pause_after_failure;
        let pacing = Pacing { pace: &behaviour.pace, after_failure, ended: before, next: then.op };
        let (next, skipped) = due(pacing, (member.intended, ended), outcome, &mut member.context);
        member.intended = next;
        if skipped > 0 {
            self.worker.recorder.borrow_mut().skipped(skipped);
        }
        self.schedule(place, ended);
    }

    /// Takes the longest waiting arrival of an open loop, or waits for one.
    fn call(&mut self, place: usize) {
        let member = self.members.places[place].as_mut().expect("it has just ended an operation");
        let Some(gate) = &self.worker.gate else { return };
        match gate.take_waiting() {
            Some(at) => {
                (member.intended, member.waits) = (at, false);
                self.make_ready(place);
            }
            None => {
                member.state = State::Free;
                gate.set_free(&member.seat.user, member.seat.slot.key);
            }
        }
    }

    /// Waits for the intended start of the next operation, if it is in the future.
    fn schedule(&mut self, place: usize, now: Nanos) {
        let member = self.members.at(place);
        member.waits = member.intended > now;
        if member.waits {
            member.state = State::Waiting;
            member.seat.slot.due_at(member.intended);
        } else {
            self.make_ready(place);
        }
    }

    fn make_ready(&mut self, place: usize) {
        self.members.at(place).state = State::Ready;
        self.ready.push(place as u32);
    }

    fn leave(&mut self, place: usize) {
        self.members.places[place] = None;
        self.worker.running.set(self.worker.running.get() - 1);
        self.worker.population.vacate(&self.door, place as u32);
    }
}

/// State of one member, kept by the group.
struct MemberContext<'g, G> {
    group: &'g mut G,
    place: usize,
}

impl<G: Group> Memory for MemberContext<'_, G> {
    fn choose(&mut self, chooser: ChooserId, context: &mut OpContext) -> usize {
        self.group.choose(self.place, chooser, context)
    }

    fn end_session(&mut self) {
        self.group.end_session(self.place);
    }
}
