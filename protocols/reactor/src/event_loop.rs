//! The loop itself: run ready tasks, wake those that are due, poll the kernel once.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::num::NonZeroU64;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::other_wait::WaitPlace;
use crate::source::{Sleep, Sources};
use crate::tasks::Tasks;

/// Tasks run before the time is read again: with ten microseconds a task, none is late for longer than a
/// third of a millisecond because of others.
const TASKS_PER_LOOK: usize = 32;

/// A sleep shorter than this was not worth it: the next answer was already on its way. …
const SHORT_SLEEP_NS: u64 = 10_000;

/// … So before the next sleep the kernel is polled this many times: some four microseconds, less than the
/// target pays for waking a sleeping thread (docs/decisions/0004).
const LOOKS_BEFORE_SLEEP: usize = 8;

/// Tasks run before the kernel is polled again.
const TASKS_PER_TURN: usize = 256;

/// The owner of the time of a thread, in nanoseconds from an origin of its own.
pub trait Pace {
    /// The present instant.
    fn now(&self) -> u64;

    /// The next due instant; `None` if nothing waits for the time.
    fn due(&self) -> Option<u64>;

    /// Wakes all that are due, and polls for input from outside.
    fn fire(&self);
}

/// A pace for a thread in which nothing waits for the time.
pub struct TimelessPace;

impl Pace for TimelessPace {
    fn now(&self) -> u64 {
        0
    }

    fn due(&self) -> Option<u64> {
        None
    }

    fn fire(&self) {}
}

pub(crate) struct ReactorState {
    pub(crate) sources: Sources,
    pub(crate) other_wait: WaitPlace,
    tasks: Tasks,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<ReactorState>>> = const { RefCell::new(None) };
}

/// The reactor of the calling thread.
///
/// # Panics
/// If the thread has none.
pub(crate) fn current() -> Rc<ReactorState> {
    CURRENT.with_borrow(|current| {
        current.clone().expect("sockets and tasks live on a thread that runs a reactor")
    })
}

/// An event loop, bound to the thread that made it. Dropping it drops every task and closes every socket.
pub struct Reactor {
    inner: Rc<ReactorState>,
    /// Whether the last sleep was a short one.
    brisk: Cell<bool>,
}

impl Reactor {
    /// Makes this thread's loop.
    ///
    /// # Errors
    /// If the kernel has no descriptor left for it.
    ///
    /// # Panics
    /// If the thread has one already.
    pub fn new() -> io::Result<Self> {
        let inner = Rc::new(ReactorState {
            sources: Sources::new()?,
            other_wait: WaitPlace::default(),
            tasks: Tasks::default(),
        });
        CURRENT.with_borrow_mut(|current| {
            assert!(current.is_none(), "one reactor a thread");
            *current = Some(Rc::clone(&inner));
        });
        // The kernel may otherwise wake a thread 50 microseconds late to save power.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Ok(Reactor { inner, brisk: Cell::new(false) })
    }

    /// Runs until `main` has ended. Remaining tasks continue in the next call.
    ///
    /// # Errors
    /// If polling the kernel fails.
    pub fn run<T: 'static>(
        &self,
        main: impl Future<Output = T> + 'static,
        pace: &impl Pace,
    ) -> io::Result<T> {
        let end: Rc<RefCell<Option<T>>> = Rc::default();
        let result = Rc::clone(&end);
        self.inner.tasks.add(Box::pin(async move {
            let value = main.await;
            *result.borrow_mut() = Some(value);
        }));
        loop {
            self.go_on(pace);
            if let Some(value) = end.borrow_mut().take() {
                return Ok(value);
            }
            self.wait(pace)?;
        }
    }

    /// Runs ready tasks and wakes those that are due.
    fn go_on(&self, pace: &impl Pace) {
        let tasks = &self.inner.tasks;
        let mut run = 0;
        while run < TASKS_PER_TURN && tasks.run_one() {
            run += 1;
            if run % TASKS_PER_LOOK == 0 {
                pace.fire();
            }
        }
        pace.fire();
    }

    /// Polls the kernel's events; sleeps while no task is ready.
    fn wait(&self, pace: &impl Pace) -> io::Result<()> {
        let sources = &self.inner.sources;
        let other = self.inner.other_wait.borrow().clone();
        if !self.inner.tasks.ready.is_empty() {
            if let Some(other) = other {
                other.wait(sources.descriptor(), Sleep::No)?;
            }
            sources.wait(Sleep::No)?;
            return Ok(());
        }
        if self.brisk.get() && other.is_none() {
            for _ in 0..LOOKS_BEFORE_SLEEP {
                if sources.wait(Sleep::No)? > 0 {
                    return Ok(());
                }
            }
        }
        if let Some(due) = pace.due() {
            sources.wake_at(due, || pace.now())?;
        }
        if let Some(other) = other {
            if other.wait(sources.descriptor(), Sleep::UntilSomethingHappens)? {
                sources.wait(Sleep::No)?;
            }
            return Ok(());
        }
        let begun = pace.now();
        sources.wait(Sleep::UntilSomethingHappens)?;
        self.brisk.set(pace.now().saturating_sub(begun) < SHORT_SLEEP_NS);
        Ok(())
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Tasks hold sockets and guards, and both hold the loop.
        self.inner.tasks.clear();
        CURRENT.with_borrow_mut(Option::take);
    }
}

/// Adds a task to the loop of this thread.
///
/// # Panics
/// If the thread has none.
pub fn spawn(work: impl Future<Output = ()> + 'static) {
    current().tasks.add(Box::pin(work));
}

/// Runs one future on a loop of its own.
///
/// # Errors
/// If the loop cannot be made, or polling the kernel fails.
pub fn block_on<T>(main: impl Future<Output = T>) -> io::Result<T> {
    let reactor = Reactor::new()?;
    let mut main = pin!(main);
    let woken = Arc::new(WakeFlag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    loop {
        if woken.0.swap(false, Ordering::AcqRel)
            && let Poll::Ready(value) = main.as_mut().poll(&mut cx)
        {
            return Ok(value);
        }
        reactor.go_on(&TimelessPace);
        if woken.0.load(Ordering::Acquire) {
            reactor.inner.sources.wait(Sleep::No)?;
        } else {
            reactor.wait(&TimelessPace)?;
        }
    }
}

/// Whether the future of [`block_on`] was woken.
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}
