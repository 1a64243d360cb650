//! The pacer: one heap of due instants per worker.
//!
//! The worker's loop sleeps until the earliest of them and no longer. The timers of a general runtime round
//! to a millisecond, which would add a millisecond of the tool to every response time.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use barograph_model::Nanos;

/// A wait: its time, its slot, and the slot's generation at that time (a stale entry has no effect).
type Entry = Reverse<(u64, u32, u32)>;

#[derive(Default)]
pub(crate) struct Pacer {
    heap: RefCell<BinaryHeap<Entry>>,
}

impl Pacer {
    /// Adds a wait.
    pub(crate) fn push(&self, at: Nanos, slot: u32, generation: u32) {
        self.heap.borrow_mut().push(Reverse((at.0, slot, generation)));
    }

    /// Returns the time of the earliest wait.
    pub(crate) fn earliest(&self) -> Option<Nanos> {
        self.heap.borrow().peek().map(|Reverse((at, _, _))| Nanos(*at))
    }

    /// Removes a due wait, if there is one.
    pub(crate) fn pop_due(&self, now: Nanos) -> Option<(u32, u32)> {
        let mut heap = self.heap.borrow_mut();
        if heap.peek()?.0.0 > now.0 {
            return None;
        }
        heap.pop().map(|Reverse((_, slot, generation))| (slot, generation))
    }
}
