//! The meeting of arrivals and free users in an open loop.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use barograph_model::{Nanos, OpenLoop, StartOf};

use crate::activity::ActiveUser;
use crate::core::{Signal, SlotKey, WaitSlots};

/// Waiting arrivals for which memory is reserved at the start, so that a stall does not allocate.
const ROOM_AT_ONCE: usize = 65_536;

/// A worker's share of an open loop.
pub(crate) struct Dispatcher<U> {
    pub(crate) start_of: StartOf,
    /// Largest number of users of this worker.
    pub(crate) most_users: u32,
    most_waiting: usize,
    /// Free users; the latest is called first, so that no more users become active than needed.
    free: RefCell<Vec<IdleUser<U>>>,
    waiting: RefCell<VecDeque<Nanos>>,
}

struct IdleUser<U> {
    seat: Rc<ActiveUser<U>>,
    slot: SlotKey,
}

/// Result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// A free user was called.
    Called,
    /// No user is free, and one more may become active.
    NoneFree,
    /// It waits for a user.
    Late,
    /// There is no room to wait.
    Dropped,
}

impl<U> Dispatcher<U> {
    /// Makes the share of worker number `index` of `workers`.
    pub(crate) fn new(open: &OpenLoop, index: usize, workers: usize) -> Self {
        let share = |all: u32| (all as usize + workers - 1 - index) / workers;
        let most_waiting = share(open.most_waiting);
        Dispatcher {
            start_of: open.start_of,
            most_users: share(open.most_users) as u32,
            most_waiting,
            free: RefCell::default(),
            waiting: RefCell::new(VecDeque::with_capacity(most_waiting.min(ROOM_AT_ONCE))),
        }
    }

    /// Handles an arrival due at `at`, with `users` active on this worker.
    pub(crate) fn arrive(&self, core: &WaitSlots, at: Nanos, users: u32) -> Admission {
        if let Some(free) = self.free.borrow_mut().pop() {
            free.seat.call.set(Some(at));
            core.signal(free.slot, Signal::Due);
            return Admission::Called;
        }
        if users < self.most_users {
            return Admission::NoneFree;
        }
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= self.most_waiting {
            return Admission::Dropped;
        }
        waiting.push_back(at);
        Admission::Late
    }

    /// Takes the arrival that has waited longest, for a user that became free.
    pub(crate) fn take_waiting(&self) -> Option<Nanos> {
        self.waiting.borrow_mut().pop_front()
    }

    /// Marks a user as free until it is called.
    pub(crate) fn set_free(&self, seat: &Rc<ActiveUser<U>>, slot: SlotKey) {
        self.free.borrow_mut().push(IdleUser { seat: Rc::clone(seat), slot });
    }

    /// Whether all `users` are free, and no arrival waits for one.
    pub(crate) fn is_idle(&self, users: u32) -> bool {
        self.waiting.borrow().is_empty() && self.free.borrow().len() == users as usize
    }

    /// Closes the gate: no more arrivals, and no more calls.
    pub(crate) fn close(&self) {
        self.free.borrow_mut().clear();
        self.waiting.borrow_mut().clear();
    }
}
