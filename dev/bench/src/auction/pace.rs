//! Pace of a reactor's thread, with a beat: measurements end on it, and attempts are repeated on it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use barograph_reactor::Pace;

/// Nanoseconds since this was made, and a beat.
pub(crate) struct BeatClock {
    start: Instant,
    period: u64,
    next: Cell<u64>,
    beats: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl BeatClock {
    pub(crate) fn every(period: Duration) -> BeatClock {
        let period = period.as_nanos() as u64;
        BeatClock {
            start: Instant::now(),
            period,
            next: Cell::new(period),
            beats: Cell::new(0),
            waiting: RefCell::default(),
        }
    }

    /// Waits for the next beat.
    pub(crate) async fn next(&self) {
        let seen = self.beats.get();
        poll_fn(|cx| {
            if self.beats.get() > seen {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits this many seconds, to the next beat after them.
    pub(crate) async fn pass(&self, seconds: u64) {
        let end = self.now() + seconds * 1_000_000_000;
        while self.now() < end {
            self.next().await;
        }
    }
}

impl Pace for BeatClock {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn due(&self) -> Option<u64> {
        Some(self.next.get())
    }

    fn fire(&self) {
        let now = self.now();
        if now < self.next.get() {
            return;
        }
        self.next.set(now + self.period);
        self.beats.set(self.beats.get() + 1);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }
}
