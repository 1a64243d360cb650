//! The pacer: one heap of due instants per worker and one kernel timer armed for the earliest.
//!
//! A runtime's own timers round to a millisecond, which would put a millisecond of the tool into every response
//! time. The kernel timer wakes the worker at the nanosecond asked for, give or take the scheduler.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;

use barograph_model::Nanos;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

/// A wait: when it is due, whose slot it is, and the slot's generation at the time (a stale entry wakes nobody).
type Entry = Reverse<(u64, u32, u32)>;

#[derive(Default)]
pub(crate) struct Pacer {
    heap: RefCell<BinaryHeap<Entry>>,
    armed_for: Cell<Option<u64>>,
    timer: RefCell<Option<OwnedFd>>,
}

impl Pacer {
    /// Makes the kernel timer. Without one (simulation) the heap is driven from outside.
    pub(crate) fn with_timer() -> std::io::Result<(Self, OwnedFd)> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let twin = timer.try_clone()?;
        let pacer = Pacer::default();
        pacer.timer.replace(Some(timer));
        Ok((pacer, twin))
    }

    /// Remembers a wait. `now` is needed to arm the timer when this is the earliest.
    pub(crate) fn push(&self, at: Nanos, slot: u32, generation: u32, now: Nanos) {
        self.heap.borrow_mut().push(Reverse((at.0, slot, generation)));
        if self.armed_for.get().is_none_or(|armed| at.0 < armed) {
            self.arm(at.0, now);
        }
    }

    /// When the earliest wait is due.
    pub(crate) fn earliest(&self) -> Option<Nanos> {
        self.heap.borrow().peek().map(|Reverse((at, _, _))| Nanos(*at))
    }

    /// Takes one wait that is due, if there is one.
    pub(crate) fn pop_due(&self, now: Nanos) -> Option<(u32, u32)> {
        let mut heap = self.heap.borrow_mut();
        if heap.peek()?.0.0 > now.0 {
            return None;
        }
        heap.pop().map(|Reverse((_, slot, generation))| (slot, generation))
    }

    /// Arms the timer for the earliest wait, after the due ones were taken.
    pub(crate) fn rearm(&self, now: Nanos) {
        match self.earliest() {
            Some(at) => self.arm(at.0, now),
            None => self.armed_for.set(None),
        }
    }

    fn arm(&self, at: u64, now: Nanos) {
        self.armed_for.set(Some(at));
        if let Some(timer) = &*self.timer.borrow() {
            // At least one nanosecond: zero would disarm the timer.
            let wait = at.saturating_sub(now.0).max(1);
            let value =
                Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as _ };
            let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), &spec)
                .expect("arming our own timer with a valid span cannot be refused");
        }
    }
}
