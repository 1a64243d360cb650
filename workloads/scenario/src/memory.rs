//! Memory of one user: its values by lifetime, a frame for each of its activities, its cookies.

use barograph_model::{BehaviourId, OpId, Outcome, UserId};
use barograph_scenario::{BuiltIn, Life, Scenario, SlotIndex, Source, Values, View};

use crate::cookies::Jar;
use crate::slot::{self, Slot};

/// Most activities beside the main one: the limit of the engine.
const MOST_OTHERS: usize = 16;

/// Memory of one user.
pub(crate) struct Memory {
    pub(crate) user: UserId,
    by_user: Box<[Slot]>,
    by_session: Box<[Slot]>,
    /// The first is that of the main activity.
    frames: Vec<Option<Frame>>,
    /// Counters of draws.
    pub(crate) counts: Box<[u64]>,
    pub(crate) jar: Jar,
    next_life: u32,
}

/// Memory of one activity.
pub(crate) struct Frame {
    behaviour: BehaviourId,
    argument: String,
    values: Box<[Slot]>,
    /// Distinguishes it from earlier frames with the same number.
    life: u32,
    status: u16,
    /// Outcome of its last operation.
    outcome: Outcome,
    /// Whether an operation has begun and not yet ended.
    busy: bool,
    /// The present or last operation.
    op: OpId,
}

impl Frame {
    fn new(behaviour: BehaviourId, argument: String, values: Box<[Slot]>, life: u32) -> Self {
        let outcome = Outcome::Good;
        Frame { behaviour, argument, values, life, status: 0, outcome, busy: false, op: OpId(0) }
    }

    /// Ends an operation without outcome as timed out: it was cut off by the deadline. If the user had been
    /// stopped, this would not be called.
    fn settle(&mut self) {
        if std::mem::take(&mut self.busy) {
            self.outcome = Outcome::TimedOut;
        }
    }
}

/// Number and lifetime of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameKey {
    pub(crate) number: u32,
    life: u32,
}

impl Memory {
    pub(crate) fn new(scenario: &Scenario, user: UserId, counting: usize) -> Self {
        let slots = scenario.slots;
        let main = Frame::new(BehaviourId(0), String::new(), slot::empty(slots.activity), 0);
        Memory {
            user,
            by_user: slot::empty(slots.user),
            by_session: slot::empty(slots.session),
            frames: vec![Some(main)],
            counts: vec![0; counting].into(),
            jar: Jar::default(),
            next_life: 1,
        }
    }

    /// The frame of a live activity; its number comes from [`Self::start`], or is the main one's.
    fn frame(&mut self, number: u32) -> Option<&mut Frame> {
        self.frames.get_mut(number as usize)?.as_mut()
    }

    /// Begins an operation of this activity.
    pub(crate) fn begin(&mut self, number: u32, op: OpId) -> Option<FrameKey> {
        let frame = self.frame(number)?;
        frame.settle();
        frame.busy = true;
        frame.status = 0;
        frame.op = op;
        Some(FrameKey { number, life: frame.life })
    }

    /// Settles the last operation, between two operations; returns its frame and id.
    pub(crate) fn settle(&mut self, number: u32) -> Option<(FrameKey, OpId)> {
        let frame = self.frame(number)?;
        frame.settle();
        Some((FrameKey { number, life: frame.life }, frame.op))
    }

    /// Records the outcome of the operation in progress.
    pub(crate) fn end(&mut self, key: FrameKey, outcome: Outcome) {
        if let Some(frame) = self.frame(key.number) {
            frame.busy = false;
            frame.outcome = outcome;
        }
    }

    /// Records the status of an answer to the operation in progress.
    pub(crate) fn answered(&mut self, number: u32, status: u16) {
        if let Some(frame) = self.frame(number) {
            frame.status = status;
        }
    }

    /// Whether this activity is still live.
    pub(crate) fn is_going_on(&self, key: FrameKey) -> bool {
        self.frames.get(key.number as usize).and_then(Option::as_ref).is_some_and(|f| f.life == key.life)
    }

    /// Makes a frame for a new activity, if the user has fewer than `at_most` of this behaviour.
    pub(crate) fn start(
        &mut self,
        behaviour: BehaviourId,
        at_most: u32,
        argument: &str,
        slots: u16,
    ) -> Option<u32> {
        let same = self.frames.iter().flatten().filter(|f| f.behaviour == behaviour).count();
        if same >= at_most as usize || self.others() >= MOST_OTHERS {
            return None;
        }
        let life = self.next_life;
        self.next_life = life.wrapping_add(1);
        let frame = Frame::new(behaviour, argument.to_owned(), slot::empty(slots), life);
        let free = self.frames.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.frames.push(None);
            self.frames.len() - 1
        });
        self.frames[number] = Some(frame);
        Some(number as u32)
    }

    /// Ends the activity of this frame; the main one never ends.
    pub(crate) fn finish(&mut self, number: u32) {
        if number != 0 {
            self.frames[number as usize] = None;
        }
    }

    /// Ends all activities except the main one and `kept`.
    pub(crate) fn finish_others(&mut self, kept: u32) {
        for number in (1..self.frames.len() as u32).filter(|n| *n != kept) {
            self.finish(number);
        }
    }

    /// Ends the session: its values and cookies are dropped.
    pub(crate) fn end_session(&mut self) {
        self.by_session.iter_mut().for_each(Slot::clear);
        self.jar.clear();
    }

    /// The slot at a place. `operation` has the slots of the operation in progress.
    pub(crate) fn slot<'m>(
        &'m mut self,
        place: SlotIndex,
        at: FrameKey,
        operation: &'m mut [Slot],
    ) -> &'m mut Slot {
        let slot = usize::from(place.slot);
        match place.life {
            Life::User => &mut self.by_user[slot],
            Life::Session => &mut self.by_session[slot],
            Life::Activity => {
                let frame = self.frames[at.number as usize].as_mut();
                &mut frame.expect("an operation's frame lasts until it ends").values[slot]
            }
            Life::Operation => &mut operation[slot],
        }
    }

    fn others(&self) -> usize {
        self.frames.iter().skip(1).flatten().count()
    }
}

/// A user's values, as visible to one activity.
#[derive(Clone, Copy)]
pub(crate) struct UserValues<'m> {
    pub(crate) scenario: &'m Scenario,
    pub(crate) memory: &'m Memory,
    pub(crate) frame: u32,
    /// Slots of the operation in progress; empty between operations.
    pub(crate) operation: &'m [Slot],
}

impl UserValues<'_> {
    fn place(&self, place: SlotIndex) -> View<'_> {
        let slot = usize::from(place.slot);
        match place.life {
            Life::User => self.memory.by_user[slot].view(),
            Life::Session => self.memory.by_session[slot].view(),
            Life::Activity => self.own().map_or(View::Absent, |frame| frame.values[slot].view()),
            Life::Operation => self.operation.get(slot).map_or(View::Absent, Slot::view),
        }
    }

    fn own(&self) -> Option<&Frame> {
        self.memory.frames.get(self.frame as usize)?.as_ref()
    }

    fn built_in(&self, which: BuiltIn) -> View<'_> {
        match which {
            BuiltIn::User => View::Integer(i64::from(self.memory.user.0)),
            BuiltIn::Activities => View::Integer(self.memory.others() as i64),
            BuiltIn::Argument => self.own().map_or(View::Absent, |f| View::Text(&f.argument)),
            BuiltIn::Status => self.own().map_or(View::Absent, |f| View::Integer(i64::from(f.status))),
            BuiltIn::Outcome => self.own().map_or(View::Absent, |f| View::Text(f.outcome.name())),
        }
    }
}

impl Values for UserValues<'_> {
    fn view(&self, source: Source) -> View<'_> {
        match source {
            Source::Slot(place) => self.place(place),
            Source::BuiltIn(which) => self.built_in(which),
            Source::Column { data, column, row } => match self.place(row) {
                View::Integer(row) => {
                    View::Text(self.scenario.data[usize::from(data.0)].cell(row as u32, column))
                }
                _ => View::Absent,
            },
        }
    }
}
