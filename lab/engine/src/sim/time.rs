//! Simulated time outside the load: shared with the driver of the test, and stopped while something real is waited for.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use barograph_model::Nanos;
use futures::task::AtomicWaker;

/// Simulated time. Clones show the same; it goes on when the next interval of a load is waited for.
#[derive(Clone, Default)]
pub struct Time(Arc<Shared>);

#[derive(Default)]
struct Shared {
    now: AtomicU64,
    /// The number of [`Still`] that keep it where it is.
    held: AtomicUsize,
    /// Wakes the load when it may go on.
    goes_on: AtomicWaker,
    /// Instants that are waited for.
    waits: Mutex<Vec<(Nanos, Waker)>>,
}

/// Keeps time where it is until it is dropped.
pub struct Still(Time);

impl Drop for Still {
    fn drop(&mut self) {
        self.0.0.held.fetch_sub(1, Ordering::SeqCst);
        self.0.0.goes_on.wake();
    }
}

impl Time {
    /// The simulated instant.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos(self.0.now.load(Ordering::SeqCst))
    }

    /// Lets time stand still.
    #[must_use]
    pub fn hold(&self) -> Still {
        self.0.held.fetch_add(1, Ordering::SeqCst);
        Still(self.clone())
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

    /// Waits until nothing keeps time where it is.
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

    /// The next instant that is waited for.
    pub(super) fn next(&self) -> Nanos {
        self.waits().iter().map(|(at, _)| *at).min().unwrap_or(Nanos::MAX)
    }

    /// Sets the clock and wakes what waits for it; says whether anything did.
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
