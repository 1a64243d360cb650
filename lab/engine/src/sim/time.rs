//! Simulated time outside the load: shared with the test, and stopped while real work is awaited.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use barograph_model::Nanos;
use futures::task::AtomicWaker;

/// Simulated time. Clones share it; it advances when the next interval of a load is awaited.
#[derive(Clone, Default)]
pub struct Time(Arc<TimeState>);

#[derive(Default)]
struct TimeState {
    now: AtomicU64,
    /// Number of [`TimeHold`] values that stop it.
    held: AtomicUsize,
    /// Wakes the load when time may advance.
    goes_on: AtomicWaker,
    /// Awaited instants.
    waits: Mutex<Vec<(Nanos, Waker)>>,
}

/// Stops time until dropped.
pub struct TimeHold(Time);

impl Drop for TimeHold {
    fn drop(&mut self) {
        self.0.0.held.fetch_sub(1, Ordering::SeqCst);
        self.0.0.goes_on.wake();
    }
}

impl Time {
    /// Returns the simulated time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos(self.0.now.load(Ordering::SeqCst))
    }

    /// Stops time.
    #[must_use]
    pub fn hold(&self) -> TimeHold {
        self.0.held.fetch_add(1, Ordering::SeqCst);
        TimeHold(self.clone())
    }

    /// Waits until `at`.
    pub fn until(&self, at: Nanos) -> impl Future<Output = ()> + Send + use<> {
        let time = self.clone();
        poll_fn(move |cx| {
            if time.now() >= at {
                return Poll::Ready(());
            }
            let mut waits = time.waits();
            if !waits.iter().any(|(when, waker)| *when == at && waker.will_wake(cx.waker())) {
                waits.push((at, cx.waker().clone()));
            }
            Poll::Pending
        })
    }

    /// Waits until nothing stops time.
    pub(super) async fn goes_on(&self) {
        poll_fn(|cx| {
            self.0.goes_on.register(cx.waker());
            match self.0.held.load(Ordering::SeqCst) {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }

    /// Returns the next awaited instant.
    pub(super) fn next(&self) -> Nanos {
        self.waits().iter().map(|(at, _)| *at).min().unwrap_or(Nanos::MAX)
    }

    /// Sets the clock and wakes the waits for it; returns whether there were any.
    pub(super) fn set(&self, now: Nanos) -> bool {
        self.0.now.store(now.0, Ordering::SeqCst);
        let due: Vec<Waker> =
            self.waits().extract_if(.., |(at, _)| *at <= now).map(|(_, waker)| waker).collect();
        due.iter().for_each(Waker::wake_by_ref);
        !due.is_empty()
    }

    fn waits(&self) -> MutexGuard<'_, Vec<(Nanos, Waker)>> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
