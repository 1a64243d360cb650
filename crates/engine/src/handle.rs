//! A running engine: worker threads, the control line to them, and the intervals that come back.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Instant;

use barograph_model::Nanos;
use barograph_stats::Interval;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::core::Core;
use crate::pacer::Pacer;
use crate::worker::{Ramp, Spawner, Worker};
use crate::{EngineError, Settings, Workload};

/// Commands waiting for a worker; the harness sends a handful a minute.
const CONTROL_QUEUE: usize = 64;

/// Intervals waiting for the harness, per worker: four minutes of one-second intervals.
const INTERVAL_QUEUE: usize = 256;

/// A workload of any type, ready to be run by the engine.
pub trait Runnable: Send {
    /// Starts the workers. No user is active yet.
    fn start(self: Box<Self>, settings: &Settings) -> Result<EngineHandle, EngineError>;
}

/// Erases a workload's type: `make` is called once in each worker's thread.
pub fn runnable<W, F>(make: F) -> Box<dyn Runnable>
where
    W: Workload,
    F: Fn() -> W + Send + Sync + 'static,
{
    Box::new(Make { make: std::sync::Arc::new(make) })
}

struct Make<F> {
    make: std::sync::Arc<F>,
}

enum Control {
    Ramp(Ramp),
    Stop { drain: Nanos },
}

/// What a worker has to say.
enum Part {
    /// An interval is closed.
    Closed(Box<Interval>),
    /// The last interval is closed.
    Last(Box<Interval>),
    /// The worker ended without being told to: a task or the thread panicked.
    Gone { worker: usize },
}

/// Intervals kept for a worker that is behind the others before they are handed out without it.
const PATIENCE: usize = 60;

/// The line to the workers of a running engine.
pub struct EngineHandle {
    origin: Instant,
    controls: Vec<mpsc::Sender<Control>>,
    parts: mpsc::Receiver<Part>,
    threads: Vec<JoinHandle<()>>,
    pending: BTreeMap<u64, (usize, Box<Interval>)>,
    interval: Nanos,
    ended: usize,
    users: u32,
}

impl<W, F> Runnable for Make<F>
where
    W: Workload,
    F: Fn() -> W + Send + Sync + 'static,
{
    fn start(self: Box<Self>, settings: &Settings) -> Result<EngineHandle, EngineError> {
        let origin = now();
        let (send_parts, parts) = mpsc::channel(INTERVAL_QUEUE * settings.workers);
        let mut controls = Vec::new();
        let mut threads = Vec::new();
        for worker in 0..settings.workers {
            let (send_control, control) = mpsc::channel(CONTROL_QUEUE);
            let thread = Thread {
                index: worker,
                origin,
                settings: settings.clone(),
                control,
                parts: send_parts.clone(),
            };
            let make = std::sync::Arc::clone(&self.make);
            let spawned = std::thread::Builder::new()
                .name(format!("driver-{worker}"))
                .spawn(move || thread.run(make.as_ref()))
                .map_err(|why| EngineError::StartWorker { worker, why })?;
            controls.push(send_control);
            threads.push(spawned);
        }
        let pending = BTreeMap::new();
        Ok(EngineHandle {
            origin,
            controls,
            parts,
            threads,
            pending,
            interval: settings.interval,
            ended: 0,
            users: 0,
        })
    }
}

/// The engine is the one place that reads the clock.
fn now() -> Instant {
    Instant::now()
}

impl EngineHandle {
    /// Time since the load began.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos::from(self.origin.elapsed())
    }

    /// Users asked for by the latest ramp.
    #[must_use]
    pub fn users(&self) -> u32 {
        self.users
    }

    /// Changes the number of users, spread evenly over `over`, beginning now. It replaces a ramp still going on; with a
    /// zero `over` the given number is active at once, wherever the old ramp stood.
    pub async fn ramp(&mut self, users: u32, over: Nanos) -> Result<(), EngineError> {
        let ramp = Ramp { before: self.users, after: users, at: self.now(), over };
        self.users = users;
        for (worker, control) in self.controls.iter().enumerate() {
            control.send(Control::Ramp(ramp)).await.map_err(|_| EngineError::WorkerGone { worker })?;
        }
        Ok(())
    }

    /// Tells all users to stop and gives operations in flight `drain` to end. Intervals still come.
    pub async fn stop(&mut self, drain: Nanos) {
        for control in &self.controls {
            // A worker that is gone needs no telling; `next` reports it.
            let _ = control.send(Control::Stop { drain }).await;
        }
    }

    /// The next interval, merged over all workers; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Interval>, EngineError> {
        loop {
            if let Some(whole) = self.take_whole() {
                return Ok(Some(whole));
            }
            match self.parts.recv().await {
                Some(Part::Closed(interval)) => self.sort_in(interval),
                Some(Part::Last(interval)) => {
                    self.ended += 1;
                    self.sort_in(interval);
                }
                Some(Part::Gone { worker }) => return Err(EngineError::WorkerGone { worker }),
                None => return Ok(None),
            }
        }
    }

    /// Parts belong together by the interval of the grid in which their middle lies.
    fn sort_in(&mut self, interval: Box<Interval>) {
        let middle = interval.from.0 + (interval.to.0 - interval.from.0) / 2;
        let place = middle / self.interval.0.max(1);
        match self.pending.get_mut(&place) {
            Some((count, sum)) => {
                *count += 1;
                sum.add_worker(&interval);
            }
            None => {
                self.pending.insert(place, (1, interval));
            }
        }
    }

    /// The oldest interval, if every worker has delivered it or a later one is complete already.
    fn take_whole(&mut self) -> Option<Interval> {
        let workers = self.threads.len();
        let newest_whole =
            self.pending.iter().rev().find(|(_, (count, _))| *count >= workers).map(|(place, _)| *place);
        let (place, (count, _)) = self.pending.first_key_value()?;
        let passed_over = newest_whole.is_some_and(|whole| whole > *place) || self.pending.len() > PATIENCE;
        let done = *count >= workers || passed_over || self.ended == workers;
        if !done {
            return None;
        }
        self.pending.pop_first().map(|(_, (_, interval))| *interval)
    }
}

/// What one worker thread is given.
struct Thread {
    index: usize,
    origin: Instant,
    settings: Settings,
    control: mpsc::Receiver<Control>,
    parts: mpsc::Sender<Part>,
}

/// Says that a worker is gone unless it took its leave.
struct Farewell {
    worker: usize,
    parts: mpsc::Sender<Part>,
    taken: bool,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if !self.taken {
            // A full queue means that the harness is stuck; it finds the channel closed when it goes on.
            let _ = self.parts.try_send(Part::Gone { worker: self.worker });
        }
    }
}

impl Thread {
    fn run<W: Workload>(self, make: &(impl Fn() -> W + ?Sized)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .max_io_events_per_tick(1024)
            .build()
            .expect("a runtime needs an epoll descriptor and nothing else");
        let local = tokio::task::LocalSet::new();
        let workload = make();
        runtime.block_on(local.run_until(self.work(workload)));
    }

    async fn work<W: Workload>(mut self, workload: W) {
        let mut farewell = Farewell { worker: self.index, parts: self.parts.clone(), taken: false };
        let (pacer, timer) =
            Pacer::with_timer().expect("a timer descriptor: raised file limit was checked before");
        let core = Rc::new(Core::new(Clock::Real(self.origin), pacer));
        let worker = Worker::new(&self.settings, self.index, workload, Rc::clone(&core), Spawner::Runtime);
        worker.spawn(drive_pacer(Rc::clone(&core), timer));
        worker.spawn(Rc::clone(&worker).keep_house(thread_cpu, hand_over(self.parts.clone())));
        let drain = loop {
            let control = tokio::select! {
                control = self.control.recv() => control,
                () = worker.broken() => return,
            };
            match control {
                Some(Control::Ramp(ramp)) => worker.follow_ramp(ramp),
                Some(Control::Stop { drain }) => break drain,
                None => return,
            }
        };
        worker.deactivate_all();
        let deadline = core.clock.now() + drain;
        let slot = Core::slot(&core);
        while worker.running() > 0 && core.clock.now() < deadline {
            slot.until(core.clock.now() + Nanos::from_millis(20)).await;
        }
        farewell.taken = true;
        let _ = self.parts.send(Part::Last(worker.last_interval(thread_cpu()))).await;
    }
}

/// Hands closed intervals to the harness. While its queue is full they are joined, so that a harness that is stuck gets
/// longer intervals later instead of holes. False when nobody listens any more.
fn hand_over(parts: mpsc::Sender<Part>) -> impl FnMut(Box<Interval>) -> bool {
    let mut kept: Option<Box<Interval>> = None;
    move |interval| {
        let whole = match kept.take() {
            Some(mut before) => {
                before.append(&interval);
                before
            }
            None => interval,
        };
        match parts.try_send(Part::Closed(whole)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(Part::Closed(whole))) => {
                kept = Some(whole);
                true
            }
            Err(_) => false,
        }
    }
}

/// CPU time of the calling worker thread.
fn thread_cpu() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Wakes whoever is due, each time the kernel timer says so.
#[expect(
    deprecated,
    reason = "its replacement is unsafe for the sake of foreign types; an owned descriptor keeps the promise it asks for"
)]
async fn drive_pacer(core: Rc<Core>, timer: std::os::fd::OwnedFd) {
    let timer = AsyncFd::new(timer).expect("registering a timer descriptor with a live runtime");
    loop {
        let Ok(mut ready) = timer.readable().await else { return };
        ready.clear_ready();
        drop(ready);
        let now = core.clock.now();
        core.fire(now);
        core.pacer.rearm(now);
    }
}
