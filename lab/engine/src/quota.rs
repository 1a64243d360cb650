//! Quota: the number of operations of all workers after which a load ends.
//!
//! Workers of a closed loop take operations in blocks, so that an operation costs a decrement. A block holds
//! about as many as a worker begins within a few milliseconds: a slow worker holds few operations back when
//! the others have none left. Arrivals of an open loop, and so their operations, are dealt to workers by
//! number.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use barograph_model::Nanos;

use crate::clock::Clock;

/// Time of a block below which the next one has twice its size.
const SOON: Nanos = Nanos::from_millis(2);

/// Time of a block above which the next one has half its size.
const LATE: Nanos = Nanos::from_millis(10);

/// Operations that no worker has taken yet, and the end of those taken.
pub(crate) struct Quota {
    left: AtomicU64,
    workers: usize,
    /// Workers whose operations have not all ended.
    busy: AtomicUsize,
    first_start: AtomicU64,
    last_end: AtomicU64,
}

impl Quota {
    /// Makes a quota for a number of operations and workers.
    pub(crate) fn new(operations: u64, workers: usize) -> Arc<Self> {
        Arc::new(Quota {
            left: AtomicU64::new(operations),
            workers,
            busy: AtomicUsize::new(workers),
            first_start: AtomicU64::new(u64::MAX),
            last_end: AtomicU64::new(0),
        })
    }

    /// Takes a block of at most `wanted`; 0 if nothing is left. The last ones are shared evenly.
    fn take(&self, wanted: u64) -> u64 {
        let mut taken = 0;
        // The count guards no other data, so no order is needed.
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            taken = wanted.min(left.div_ceil(self.workers as u64));
            Some(left - taken)
        });
        taken
    }

    /// Notes that a worker has ended its operations, the last of them at `at`.
    pub(crate) fn worker_ended(&self, at: Nanos) {
        self.last_end.fetch_max(at.0, Ordering::Relaxed);
        // Earlier messages are visible once no worker is busy.
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether every operation has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0
    }

    /// Returns the first start; `None` before it.
    pub(crate) fn began(&self) -> Option<Nanos> {
        Some(self.first_start.load(Ordering::Relaxed)).filter(|at| *at < u64::MAX).map(Nanos)
    }

    /// Returns the last end; `None` before it.
    pub(crate) fn ended(&self) -> Option<Nanos> {
        self.is_over().then(|| Nanos(self.last_end.load(Ordering::Relaxed)))
    }
}

/// Operations that a worker may begin. Unlimited without a quota.
pub(crate) struct Allowance {
    /// Operations left before the next block.
    left: Cell<u64>,
    /// Operations of this worker alone, used before any block.
    own: Cell<u64>,
    /// Size of the latest block; 0 if only its own operations are used.
    block: Cell<u64>,
    taken_at: Cell<Nanos>,
    quota: RefCell<Option<Arc<Quota>>>,
}

impl Allowance {
    pub(crate) fn endless() -> Self {
        Allowance {
            left: Cell::new(u64::MAX),
            own: Cell::new(0),
            block: Cell::new(1),
            taken_at: Cell::new(Nanos::ZERO),
            quota: RefCell::default(),
        }
    }

    /// Takes blocks of the quota from now on.
    pub(crate) fn share(&self, quota: Arc<Quota>) {
        self.left.set(0);
        *self.quota.borrow_mut() = Some(quota);
    }

    /// Takes the share of worker `index` of `workers` from now on, without blocks.
    pub(crate) fn deal(&self, quota: Arc<Quota>, (index, workers): (usize, usize)) {
        let all = quota.left.load(Ordering::Relaxed);
        self.own.set((all + (workers - 1 - index) as u64) / workers as u64);
        self.block.set(0);
        self.share(quota);
    }

    /// Takes one operation; returns false if none is left.
    #[inline]
    pub(crate) fn take(&self, clock: &Clock) -> bool {
        match self.left.get() {
            0 => self.take_of_next_block(clock),
            left => {
                self.left.set(left - 1);
                true
            }
        }
    }

    #[cold]
    fn take_of_next_block(&self, clock: &Clock) -> bool {
        let quota = self.quota.borrow();
        let Some(quota) = &*quota else { return false };
        let now = clock.now();
        let taken = match self.own.take() {
            0 => quota.take(self.next_block(now)),
            own => own,
        };
        if taken > 0 {
            quota.first_start.fetch_min(now.0, Ordering::Relaxed);
            self.left.set(taken - 1);
        }
        taken > 0
    }

    fn next_block(&self, now: Nanos) -> u64 {
        let block = self.block.get();
        let lasted = now - self.taken_at.replace(now);
        let next = match lasted {
            _ if lasted < SOON => block.saturating_mul(2),
            _ if lasted > LATE => (block / 2).max(block.min(1)),
            _ => block,
        };
        self.block.set(next);
        next
    }

    /// Returns an operation that could not begin.
    pub(crate) fn give_back(&self) {
        self.left.set(self.left.get().saturating_add(1));
    }

    /// Whether nothing is left of a quota.
    pub(crate) fn is_spent(&self) -> bool {
        let none_left = |quota: &Arc<Quota>| self.block.get() == 0 || quota.left.load(Ordering::Relaxed) == 0;
        self.left.get() == 0 && self.own.get() == 0 && self.quota.borrow().as_ref().is_some_and(none_left)
    }
}
