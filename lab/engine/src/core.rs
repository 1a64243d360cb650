//! State shared by all activities of a worker: clock, pacer, and the slots in which they wait and are
//! stopped.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use barograph_model::{Counters, Nanos};
use slab::Slab;

use crate::clock::Clock;
use crate::group::Inbox;
use crate::pacer::Pacer;

/// Waits of a worker.
pub(crate) struct WaitSlots {
    pub(crate) clock: Clock,
    pub(crate) pacer: Pacer,
    /// Time before a due wait for which the worker polls instead of sleeping.
    poll: Nanos,
    /// CPU time that polling has used, and that of the thread when it began.
    polled: Cell<Nanos>,
    polls_since: Cell<Nanos>,
    rooms: RefCell<Slab<SlotState>>,
    generations: Cell<u32>,
    /// Empty counters that ended operations have left to the next ones.
    #[expect(clippy::vec_box, reason = "boxes change hands without being allocated again")]
    pub(crate) counters: RefCell<Vec<Box<Counters>>>,
}

/// Reason for waking an activity other than its own answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    None,
    /// Its wait is over.
    Due,
    /// Its operation has exceeded the time limit.
    Expired,
    /// It must end now, whether an operation is in flight or not.
    Cancel,
}

struct SlotState {
    generation: u32,
    owner: Owner,
    signal: Signal,
    deadline: Nanos,
}

/// Owner of a slot, for waking it.
enum Owner {
    /// A task that has not waited yet.
    New,
    Task(Waker),
    /// A member of a group, or the group, by its place.
    Member(Rc<Inbox>, u32),
}

impl SlotState {
    /// Takes the latest signal; a cancel stays.
    fn take_signal(&mut self) -> Signal {
        match self.signal {
            Signal::Cancel => Signal::Cancel,
            _ => std::mem::replace(&mut self.signal, Signal::None),
        }
    }
}

impl WaitSlots {
    pub(crate) fn new(clock: Clock, pacer: Pacer) -> Self {
        WaitSlots {
            clock,
            pacer,
            poll: Nanos::ZERO,
            polled: Cell::default(),
            polls_since: Cell::default(),
            rooms: RefCell::new(Slab::new()),
            generations: Cell::new(0),
            counters: RefCell::default(),
        }
    }

    /// Polls instead of sleeping for the time `poll` before each due wait.
    pub(crate) fn polling(self, poll: Nanos) -> Self {
        WaitSlots { poll, ..self }
    }

    /// CPU time of the calling worker thread without that of polling.
    pub(crate) fn cpu(&self) -> Nanos {
        thread_cpu() - self.polled.get()
    }

    /// Allocates a slot, which is freed when dropped.
    pub(crate) fn slot(core: &Rc<WaitSlots>) -> Slot {
        Self::slot_of(core, Owner::New)
    }

    /// Allocates the slot of a group member: its signals arrive in the group's inbox.
    pub(crate) fn slot_of_member(core: &Rc<WaitSlots>, inbox: &Rc<Inbox>, place: u32) -> Slot {
        Self::slot_of(core, Owner::Member(Rc::clone(inbox), place))
    }

    fn slot_of(core: &Rc<WaitSlots>, owner: Owner) -> Slot {
        let generation = core.generations.get().wrapping_add(1);
        core.generations.set(generation);
        let room = SlotState { generation, owner, signal: Signal::None, deadline: Nanos::MAX };
        let key = core.rooms.borrow_mut().insert(room);
        let key = SlotKey { index: key as u32, generation };
        Slot { core: Rc::clone(core), key, waits: Cell::new(0) }
    }

    /// Wakes the owners of due waits.
    pub(crate) fn wake_due(&self, now: Nanos) {
        while let Some((index, generation)) = self.pacer.pop_due(now) {
            self.signal(SlotKey { index, generation }, Signal::Due);
        }
    }

    /// Signals the owner of a slot. A cancel is never overwritten; a stale key has no effect.
    pub(crate) fn signal(&self, key: SlotKey, signal: Signal) {
        let mut rooms = self.rooms.borrow_mut();
        let Some(room) = rooms.get_mut(key.index as usize).filter(|r| r.generation == key.generation) else {
            return;
        };
        if room.signal != Signal::Cancel {
            room.signal = signal;
        }
        // A wake only queues the task; nothing runs while the rooms are borrowed.
        match &room.owner {
            Owner::New => {}
            Owner::Task(waker) => waker.wake_by_ref(),
            Owner::Member(inbox, place) => inbox.notify(*place),
        }
    }

    /// Expires every operation whose deadline has passed.
    pub(crate) fn expire(&self, now: Nanos) {
        let late: Vec<SlotKey> = {
            let rooms = self.rooms.borrow();
            let late = rooms.iter().filter(|(_, room)| room.deadline <= now);
            late.map(|(index, room)| SlotKey { index: index as u32, generation: room.generation }).collect()
        };
        for key in late {
            self.signal(key, Signal::Expired);
        }
    }
}

impl barograph_reactor::Pace for WaitSlots {
    fn now(&self) -> u64 {
        self.clock.now().0
    }

    fn due(&self) -> Option<u64> {
        self.pacer.earliest().map(|at| at.0)
    }

    fn fire(&self) {
        self.wake_due(self.clock.now());
    }

    fn polls_before(&self) -> u64 {
        self.poll.0
    }

    fn polling_begins(&self) {
        self.polls_since.set(thread_cpu());
    }

    fn polling_ends(&self) {
        self.polled.set(self.polled.get() + (thread_cpu() - self.polls_since.get()));
    }
}

/// CPU time of the calling thread.
fn thread_cpu() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Yields to all other runnable tasks.
pub(crate) async fn yield_now() {
    let mut rested = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut rested, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Names a slot without keeping it alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotKey {
    index: u32,
    generation: u32,
}

/// A slot in which one activity waits.
pub(crate) struct Slot {
    core: Rc<WaitSlots>,
    pub(crate) key: SlotKey,
    /// Number of waits so far.
    waits: Cell<u32>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.core.rooms.borrow_mut().remove(self.key.index as usize);
    }
}

impl Slot {
    fn with<T>(&self, f: impl FnOnce(&mut SlotState) -> T) -> T {
        let mut rooms = self.core.rooms.borrow_mut();
        f(&mut rooms[self.key.index as usize])
    }

    /// Stores the task's waker, then takes the latest signal; a cancel stays.
    fn take_signal(&self, cx: &Context<'_>) -> Signal {
        self.with(|room| {
            if !matches!(&room.owner, Owner::Task(waker) if waker.will_wake(cx.waker())) {
                room.owner = Owner::Task(cx.waker().clone());
            }
            room.take_signal()
        })
    }

    /// Takes the signal of a group member, or of the group.
    pub(crate) fn signal_of_member(&self) -> Signal {
        self.with(SlotState::take_signal)
    }

    /// Signals the owner at `at`.
    pub(crate) fn due_at(&self, at: Nanos) {
        self.core.pacer.push(at, self.key.index, self.key.generation);
    }

    /// Sets the time at which the owner's operation expires; [`Nanos::MAX`] for never.
    pub(crate) fn expires_at(&self, deadline: Nanos) {
        self.with(|room| room.deadline = deadline);
    }

    /// Returns the number of waits so far: if it stands still, the task never rests.
    pub(crate) fn waits(&self) -> u32 {
        self.waits.get()
    }

    /// Starts a wait.
    fn wait<T>(&self) -> Poll<T> {
        self.waits.set(self.waits.get().wrapping_add(1));
        Poll::Pending
    }

    /// Whether the owner was told to end.
    pub(crate) fn cancelled(&self) -> bool {
        self.with(|room| room.signal == Signal::Cancel)
    }

    /// Discards earlier signals. Returns false if told to end.
    pub(crate) fn goes_on(&self) -> bool {
        self.with(|room| {
            if room.signal != Signal::Cancel {
                room.signal = Signal::None;
            }
            room.signal != Signal::Cancel
        })
    }

    /// Waits until `at`. Returns false if told to end instead.
    pub(crate) async fn until(&self, at: Nanos) -> bool {
        let mut pushed = false;
        self.goes_on();
        poll_fn(|cx| {
            let signal = self.take_signal(cx);
            if signal == Signal::Cancel {
                return Poll::Ready(false);
            }
            let now = self.core.clock.now();
            if now >= at {
                return Poll::Ready(true);
            }
            if !pushed {
                pushed = true;
                self.due_at(at);
            }
            self.wait()
        })
        .await
    }

    /// Waits for a call: an instant put into `call` before this slot is woken. `None` if told to end.
    pub(crate) async fn called(&self, call: &Cell<Option<Nanos>>) -> Option<Nanos> {
        poll_fn(|cx| {
            if self.take_signal(cx) == Signal::Cancel {
                return Poll::Ready(None);
            }
            call.take().map_or_else(|| self.wait(), |at| Poll::Ready(Some(at)))
        })
        .await
    }

    /// Waits for `work`, until `deadline` or until told to end. It takes the work pinned: taken by value,
    /// every waiting task would hold its memory twice.
    pub(crate) async fn guard<F: Future>(
        &self,
        deadline: Nanos,
        mut work: Pin<&mut F>,
    ) -> Result<F::Output, Signal> {
        self.with(|room| room.deadline = deadline);
        let end = poll_fn(|cx| self.poll_guarded(cx, work.as_mut())).await;
        self.with(|room| room.deadline = Nanos::MAX);
        end
    }

    fn poll_guarded<F: Future>(
        &self,
        cx: &mut Context<'_>,
        work: Pin<&mut F>,
    ) -> Poll<Result<F::Output, Signal>> {
        let signal = self.take_signal(cx);
        if matches!(signal, Signal::Cancel | Signal::Expired) {
            return Poll::Ready(Err(signal));
        }
        match work.poll(cx) {
            Poll::Ready(end) => Poll::Ready(Ok(end)),
            Poll::Pending => self.wait(),
        }
    }
}
