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

use crate::other_wait::{OtherWait, WaitPlace};
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

/// Rounds of looks in a row that may find nothing before sleeps begin without them: where answers come in pairs, as from
/// two connections, a sleep is short because the second was there already, and the next one is not.
const VAIN_ROUNDS: u32 = 4;

/// Most sleeps without looks between two rounds that find nothing, as a power of two: looks cost a hundredth then.
const LONGEST_PAUSE: u32 = 6;

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

    /// How long before a due instant the thread stops sleeping and polls instead.
    fn polls_before(&self) -> u64 {
        0
    }

    /// Called when the thread begins to poll for a due instant.
    fn polling_begins(&self) {}

    /// Called when it has ended.
    fn polling_ends(&self) {}
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
    looks: Looks,
}

/// Whether to look for events before a sleep: after a short sleep, and rarely where that finds nothing.
#[derive(Default)]
struct Looks {
    /// Whether the last sleep was a short one.
    brisk: Cell<bool>,
    /// Rounds that found nothing since the last that did.
    vain: Cell<u32>,
    /// Sleeps that begin without looks.
    pause: Cell<u32>,
}

impl Looks {
    /// Whether to look before the next sleep.
    fn are_due(&self) -> bool {
        if !self.brisk.get() {
            return false;
        }
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        pause == 0
    }

    /// A round of looks is over.
    fn ended(&self, found: bool) {
        let vain = if found { 0 } else { self.vain.get().saturating_add(1) };
        self.vain.set(vain);
        let beyond = vain.saturating_sub(VAIN_ROUNDS).min(LONGEST_PAUSE);
        self.pause.set((1 << beyond) - 1);
    }

    fn slept(&self, ns: u64) {
        self.brisk.set(ns < SHORT_SLEEP_NS);
    }
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
        Ok(Reactor { inner, looks: Looks::default() })
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
        if other.is_none() && self.looks.are_due() {
            for _ in 0..LOOKS_BEFORE_SLEEP {
                if sources.wait(Sleep::No)? > 0 {
                    self.looks.ended(true);
                    return Ok(());
                }
            }
            self.looks.ended(false);
        }
        if let Some(due) = pace.due() {
            let poll_at = due.saturating_sub(pace.polls_before());
            if poll_at < due && pace.now() >= poll_at {
                return self.poll_until(due, pace, other.as_deref());
            }
            sources.wake_at(poll_at, || pace.now())?;
        }
        if let Some(other) = other {
            if other.wait(sources.descriptor(), Sleep::UntilSomethingHappens)? {
                sources.wait(Sleep::No)?;
            }
            return Ok(());
        }
        let begun = pace.now();
        sources.wait(Sleep::UntilSomethingHappens)?;
        self.looks.slept(pace.now().saturating_sub(begun));
        Ok(())
    }

    /// Polls the kernel's events without sleep until a task is ready or `due` has come.
    fn poll_until(&self, due: u64, pace: &impl Pace, other: Option<&dyn OtherWait>) -> io::Result<()> {
        let sources = &self.inner.sources;
        pace.polling_begins();
        loop {
            if let Some(other) = other {
                other.wait(sources.descriptor(), Sleep::No)?;
            }
            sources.wait(Sleep::No)?;
            if !self.inner.tasks.ready.is_empty() || pace.now() >= due {
                pace.polling_ends();
                return Ok(());
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of looks before a number of sleeps, all short, of which every `nth` finds something.
    fn rounds(sleeps: u32, nth: u32) -> u32 {
        let looks = Looks::default();
        looks.slept(0);
        (0..sleeps).fold(0, |rounds, _| {
            if !looks.are_due() {
                return rounds;
            }
            looks.ended((rounds + 1) % nth == 0);
            rounds + 1
        })
    }

    #[test]
    fn looks_before_a_sleep_become_rare_where_they_find_nothing() {
        assert_eq!(rounds(1_000, 1), 1_000);
        assert_eq!(rounds(1_000, VAIN_ROUNDS), 1_000, "one in four is worth it");
        let vain = rounds(10_000, u32::MAX);
        assert!((10_000 / 64..10_000 / 60).contains(&vain), "{vain}");
        let looks = Looks::default();
        looks.slept(SHORT_SLEEP_NS);
        assert!(!looks.are_due(), "a long sleep was worth it");
    }
}
