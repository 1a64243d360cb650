//! Work on mailboxes outside of the load: on an event loop in a thread of its own, with progress, and stopped
//! when its future is dropped.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use barograph_reactor::{Pace, Reactor};
use futures::future::{Either, select};

/// Interval between checks for a stop, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;

/// Interval between progress reports, and between checks for a server that stands still.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// Reports without progress after which the work fails: half a minute.
const MOST_SILENT: u32 = 120;

/// Progress of the work. Shared with its thread.
#[derive(Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Counts a finished step.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stops the thread when the future is dropped.
struct StopAtEnd(Arc<Progress>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

/// Runs the future that `work` makes to its end. Dropped before, it stops within a tenth of a second. `show`
/// gets the number of finished steps.
///
/// # Errors
/// The error of the work, or a server that stands still.
pub(crate) async fn run<T, F>(
    show: impl Fn(u64),
    work: impl FnOnce(Arc<Progress>) -> F + Send + 'static,
) -> Result<T, String>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + 'static,
{
    let progress = Arc::new(Progress::default());
    let stop = StopAtEnd(Arc::clone(&progress));
    let (send, mut ended) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("mailboxes".to_owned()).spawn({
        let progress = Arc::clone(&progress);
        move || {
            // Without a receiver the work was given up.
            let _ = send.send(on_thread(&progress, work(Arc::clone(&progress))));
        }
    });
    spawned.map_err(|why| format!("start a thread: {why}"))?;
    let mut ticks = tokio::time::interval(SHOW_EVERY);
    let (mut before, mut silent) = (0, 0);
    let end = loop {
        tokio::select! {
            biased;
            end = &mut ended => break end,
            _ = ticks.tick() => {}
        }
        let done = progress.done.load(Ordering::Relaxed);
        show(done);
        silent = if done == before { silent + 1 } else { 0 };
        before = done;
        if silent > MOST_SILENT {
            return Err("no answer came for half a minute".to_owned());
        }
    };
    drop(stop);
    end.map_err(|_| "the thread ended early".to_owned())?
}

/// Pace of checks for a stop. It needs no clock: all its times are the same.
struct StopPoll {
    progress: Arc<Progress>,
    waker: Rc<RefCell<Option<Waker>>>,
}

impl Pace for StopPoll {
    fn now(&self) -> u64 {
        0
    }

    fn due(&self) -> Option<u64> {
        Some(LOOK_NS)
    }

    fn fire(&self) {
        if self.progress.stop.load(Ordering::Acquire)
            && let Some(waker) = self.waker.borrow_mut().take()
        {
            waker.wake();
        }
    }
}

fn on_thread<T: 'static>(
    progress: &Arc<Progress>,
    work: impl Future<Output = Result<T, String>> + 'static,
) -> Result<T, String> {
    let reactor = Reactor::new().map_err(|why| format!("make an event loop: {why}"))?;
    let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let look = StopPoll { progress: Arc::clone(progress), waker: Rc::clone(&waker) };
    let progress = Arc::clone(progress);
    let stopped = poll_fn(move |cx| {
        if progress.stop.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        *waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    });
    let main = async move {
        match select(Box::pin(work), stopped).await {
            Either::Left((end, _)) => end,
            Either::Right(_) => Err("stopped".to_owned()),
        }
    };
    reactor.run(main, &look).map_err(|why| format!("wait for events: {why}"))?
}
