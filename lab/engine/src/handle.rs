//! A running engine: worker threads, their commands, and the intervals they deliver.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use barograph_model::{Level, Nanos};
use barograph_reactor::Reactor;
use barograph_stats::Interval;
use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::core::WaitSlots;
use crate::cores::run_on;
use crate::group::Groups;
use crate::pacer::Pacer;
use crate::population::Population;
use crate::quota::Quota;
use crate::realtime::schedule_in_real_time;
use crate::worker::{Ramp, Spawner, Worker, WorkerNumber};
use crate::{EngineError, GroupFactory, LoadStart, Settings, UserFactory, sim};

/// Bound of a worker's queue of commands; the harness sends a handful per minute.
const CONTROL_QUEUE: usize = 64;

/// Period at which a worker polls for commands. It cannot be woken for them: a wake uses a file descriptor,
/// and a worker's table of open files is its own.
pub(crate) const CONTROL_LOOK: Nanos = Nanos::from_millis(10);

/// Interval between polls while the worker is idle, so that a load begins at once.
const IDLE_LOOK: Nanos = Nanos::from_millis(1);

/// Bound of a worker's queue of intervals: four minutes of one-second intervals.
const INTERVAL_QUEUE: usize = 256;

/// A workload of any type, ready for the engine.
pub trait Runnable: Send {
    /// Starts the workers. No user is active yet.
    fn start(self: Box<Self>, settings: &Settings) -> Result<EngineHandle, EngineError> {
        self.begin(settings, LoadStart::default())
    }

    /// Starts the workers of one of several drivers. No user is active yet.
    fn begin(self: Box<Self>, settings: &Settings, beginning: LoadStart)
    -> Result<EngineHandle, EngineError>;
}

/// Erases a workload's type: `make` is called once in each worker's thread.
pub fn runnable<W, F>(make: F) -> Box<dyn Runnable>
where
    W: UserFactory,
    F: Fn() -> W + Send + Sync + 'static,
{
    Box::new(ThreadLoad { make: std::sync::Arc::new(make), files: OpenFiles::OfWorker })
}

/// As [`runnable`], with the open files of the process in every worker.
pub(crate) fn runnable_sharing_files<W, F>(make: F) -> Box<dyn Runnable>
where
    W: UserFactory,
    F: Fn() -> W + Send + Sync + 'static,
{
    Box::new(ThreadLoad { make: std::sync::Arc::new(make), files: OpenFiles::OfProcess })
}

/// Erases the type of a workload whose users come in groups: `make` is called once in each worker's thread.
pub fn runnable_groups<W, F>(make: F) -> Box<dyn Runnable>
where
    W: GroupFactory,
    F: Fn() -> W + Send + Sync + 'static,
{
    Box::new(ThreadLoad {
        make: std::sync::Arc::new(move || Groups::new(make())),
        files: OpenFiles::OfWorker,
    })
}

struct ThreadLoad<F> {
    make: std::sync::Arc<F>,
    files: OpenFiles,
}

/// Table of open files of a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenFiles {
    /// A table of its own, so that the system's limit holds for each worker.
    OfWorker,
    /// The table of the process.
    OfProcess,
}

enum Control {
    Ramp(Ramp),
    Limit(Arc<Quota>),
    Stop { drain: Nanos },
}

/// Message of a worker.
enum WorkerMessage {
    /// An interval has ended.
    Closed(Box<Interval>),
    /// The last interval has ended.
    Last(Box<Interval>),
    /// The worker ended without being told to end: a task or the thread panicked.
    Gone { worker: usize },
}

/// Intervals kept for a slow worker before they are delivered without it.
const PATIENCE: usize = 60;

/// Handle of a running engine.
pub struct EngineHandle {
    line: WorkerSet,
    level: Option<Level>,
    quota: Option<Arc<Quota>>,
}

/// Kind of workers.
enum WorkerSet {
    /// Threads.
    Threads(Threads),
    /// Simulated time.
    Simulated(sim::Load),
}

/// Worker threads and their intervals.
struct Threads {
    origin: Instant,
    controls: Vec<Sender<Control>>,
    parts: mpsc::Receiver<WorkerMessage>,
    threads: Vec<JoinHandle<()>>,
    pending: BTreeMap<u64, (usize, Box<Interval>)>,
    interval: Nanos,
    ended: usize,
}

impl<W, F> Runnable for ThreadLoad<F>
where
    W: Population,
    F: Fn() -> W + Send + Sync + 'static,
{
    fn begin(
        self: Box<Self>,
        settings: &Settings,
        beginning: LoadStart,
    ) -> Result<EngineHandle, EngineError> {
        let origin = beginning.origin.unwrap_or_else(now);
        let (send_parts, collected) = bounded(INTERVAL_QUEUE * settings.workers);
        let mut controls = Vec::new();
        let mut threads = Vec::new();
        for worker in 0..settings.workers {
            let (send_control, control) = bounded(CONTROL_QUEUE);
            let thread = Thread {
                index: worker,
                number: WorkerNumber::new(settings, beginning.place, worker),
                origin,
                files: self.files,
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
        let parts = collect(collected).map_err(|why| EngineError::StartWorker { worker: 0, why })?;
        let pending = BTreeMap::new();
        let interval = settings.interval;
        let threads = Threads { origin, controls, parts, threads, pending, interval, ended: 0 };
        Ok(EngineHandle { line: WorkerSet::Threads(threads), level: None, quota: None })
    }
}

/// Passes messages of workers to the async receiver. Waking a runtime uses a file descriptor that workers
/// with tables of their own do not have; this thread has it.
fn collect(said: Receiver<WorkerMessage>) -> std::io::Result<mpsc::Receiver<WorkerMessage>> {
    let (pass_on, parts) = mpsc::channel(1);
    let carry = move || said.into_iter().try_for_each(|part| pass_on.blocking_send(part)).unwrap_or(());
    std::thread::Builder::new().name("driver-collect".to_owned()).spawn(carry)?;
    Ok(parts)
}

/// The engine is the only place that reads the clock.
fn now() -> Instant {
    Instant::now()
}

impl EngineHandle {
    /// Shortest time to a change that every worker knows of before: two polls for commands.
    pub const SOONEST: Nanos = Nanos(2 * CONTROL_LOOK.0);

    /// Makes the handle of a load in simulated time.
    pub(crate) fn simulated(load: sim::Load) -> Self {
        EngineHandle { line: WorkerSet::Simulated(load), level: None, quota: None }
    }

    /// Returns the time since the load began.
    #[must_use]
    pub fn now(&self) -> Nanos {
        match &self.line {
            WorkerSet::Threads(threads) => Nanos::from(threads.origin.elapsed()),
            WorkerSet::Simulated(load) => load.now(),
        }
    }

    /// Returns the level of the latest ramp: users, or starts per second in an open loop.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.unwrap_or_default()
    }

    /// Changes the level evenly over `over`, beginning as soon as every worker knows of it. It replaces a
    /// ramp in progress; with a zero `over` a closed loop has the given number of users at once, independent of the
    /// state of the old ramp.
    ///
    /// Returns the instant at which the change is complete.
    ///
    /// # Errors
    /// If a worker has ended.
    pub async fn ramp(&mut self, level: impl Into<Level>, over: Nanos) -> Result<Nanos, EngineError> {
        let look = if self.level.is_none() { IDLE_LOOK } else { CONTROL_LOOK };
        let at = self.now() + look + look;
        self.ramp_at(level, over, at).await?;
        Ok(at + over)
    }

    /// As [`EngineHandle::ramp`], beginning at an instant, which should be at least [`EngineHandle::SOONEST`]
    /// ahead. Several drivers so change their load together. A late change shows in the start lag of its
    /// users.
    ///
    /// # Errors
    /// If a worker has ended.
    pub async fn ramp_at(
        &mut self,
        level: impl Into<Level>,
        over: Nanos,
        at: Nanos,
    ) -> Result<(), EngineError> {
        let level = level.into();
        let ramp = Ramp { before: self.level(), after: level, at, over };
        self.level = Some(level);
        match &mut self.line {
            WorkerSet::Threads(threads) => threads.tell(|| Control::Ramp(ramp)),
            WorkerSet::Simulated(load) => {
                load.ramp(ramp);
                Ok(())
            }
        }
    }

    /// Ends the load after this number of operations of all users together: then there is a last interval,
    /// without a stop. Meant for a load at level zero, before a ramp; operations of earlier ramps are not
    /// counted. In an open loop the operations are counted as arrivals, without dropped ones.
    ///
    /// # Errors
    /// If a worker has ended.
    pub fn limit(&mut self, operations: u64) -> Result<(), EngineError> {
        let workers = match &self.line {
            WorkerSet::Threads(threads) => threads.controls.len(),
            WorkerSet::Simulated(load) => load.workers(),
        };
        let quota = self.quota.insert(Quota::new(operations, workers));
        match &mut self.line {
            WorkerSet::Threads(threads) => threads.tell(|| Control::Limit(Arc::clone(quota))),
            WorkerSet::Simulated(load) => {
                load.limit(quota);
                Ok(())
            }
        }
    }

    /// Returns the first start of a limited load; `None` before it.
    #[must_use]
    pub fn first_start(&self) -> Option<Nanos> {
        self.quota.as_ref()?.began()
    }

    /// Returns the end of the last operation of a limited load; `None` while one remains.
    #[must_use]
    pub fn last_end(&self) -> Option<Nanos> {
        self.quota.as_ref()?.ended()
    }

    /// Stops all users and gives operations in flight `drain` to end. Intervals still arrive.
    pub async fn stop(&mut self, drain: Nanos) {
        match &mut self.line {
            WorkerSet::Threads(threads) => threads.stop(drain),
            WorkerSet::Simulated(load) => load.stop(drain),
        }
    }

    /// Waits for the next interval, merged over all workers; `None` after the last. Those of a limited load
    /// begin with the first start and end with the last end.
    pub async fn next(&mut self) -> Result<Option<Interval>, EngineError> {
        let next = match &mut self.line {
            WorkerSet::Threads(threads) => threads.next().await?,
            WorkerSet::Simulated(load) => load.next().await,
        };
        Ok(next.map(|interval| self.trimmed(interval)))
    }

    /// Cuts off the time before the first start and after the last end of a limited load.
    fn trimmed(&self, interval: Interval) -> Interval {
        let (from, to) = (interval.from, interval.to);
        let from = self.first_start().map_or(from, |first| if first < to { from.max(first) } else { from });
        let to = self.last_end().map_or(to, |last| to.min(last).max(from));
        Interval { from, to, ..interval }
    }
}

impl Threads {
    fn tell(&self, command: impl Fn() -> Control) -> Result<(), EngineError> {
        for (worker, control) in self.controls.iter().enumerate() {
            // The queue of commands is full only if the worker has not polled for seconds.
            control.try_send(command()).map_err(|_| EngineError::WorkerGone { worker })?;
        }
        Ok(())
    }

    fn stop(&self, drain: Nanos) {
        for control in &self.controls {
            // A worker that has ended is reported by `next`.
            let _ = control.try_send(Control::Stop { drain });
        }
    }

    async fn next(&mut self) -> Result<Option<Interval>, EngineError> {
        loop {
            if let Some(whole) = self.take_whole() {
                return Ok(Some(whole));
            }
            match self.parts.recv().await {
                Some(WorkerMessage::Closed(interval)) => self.sort_in(interval),
                Some(WorkerMessage::Last(interval)) => {
                    self.ended += 1;
                    self.sort_in(interval);
                }
                Some(WorkerMessage::Gone { worker }) => return Err(EngineError::WorkerGone { worker }),
                None => return Ok(None),
            }
        }
    }

    /// Sorts a worker's interval into the grid intervals whose middle it contains. A worker that was blocked
    /// for longer than one counts its users in each, and its ended operations in the last. An interval
    /// without such a middle, as the last one of a load, counts for no worker.
    fn sort_in(&mut self, mut interval: Box<Interval>) {
        let length = self.interval.0.max(1);
        let half = length / 2;
        let (from, to) = (interval.from.0, interval.to.0);
        let places = from.saturating_sub(half).div_ceil(length)..to.saturating_sub(half).div_ceil(length);
        let Some(last) = places.clone().last() else {
            interval.users = 0;
            return self.add((from + (to - from) / 2) / length, 0, interval);
        };
        for missed in places.start..last {
            let mut empty = Interval::new(interval.ops.len());
            (empty.from, empty.to) = (Nanos(missed * length), Nanos((missed + 1) * length));
            empty.users = interval.users;
            self.add(missed, 1, Box::new(empty));
            interval.from = Nanos(last * length);
        }
        self.add(last, 1, interval);
    }

    fn add(&mut self, place: u64, workers: usize, interval: Box<Interval>) {
        match self.pending.get_mut(&place) {
            Some((count, sum)) => {
                *count += workers;
                sum.add_worker(&interval);
            }
            None => {
                self.pending.insert(place, (workers, interval));
            }
        }
    }

    /// Takes the oldest interval, if every worker has delivered it or a later one is already complete.
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

/// Parameters of a worker thread.
struct Thread {
    /// Index among the workers of this driver.
    index: usize,
    number: WorkerNumber,
    origin: Instant,
    files: OpenFiles,
    settings: Settings,
    control: Receiver<Control>,
    parts: Sender<WorkerMessage>,
}

/// Reports the end of a worker, unless it ended as told.
struct ExitGuard {
    worker: usize,
    parts: Sender<WorkerMessage>,
    taken: bool,
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if !self.taken {
            // A full queue means that the harness is stuck; it finds the channel closed when it continues.
            let _ = self.parts.try_send(WorkerMessage::Gone { worker: self.worker });
        }
    }
}

impl Thread {
    /// Runs the worker thread. On a panic, the farewell reports it.
    fn run<W: Population>(self, make: &(impl Fn() -> W + ?Sized)) {
        let mut farewell = ExitGuard { worker: self.index, parts: self.parts.clone(), taken: false };
        if self.files == OpenFiles::OfWorker {
            // On a kernel without the call all workers share one limit of open files, which the check of the
            // plan assumes then.
            let _ = barograph_reactor::own_open_files();
        }
        // The check of the plan has found that both are permitted.
        if self.settings.realtime {
            let _ = schedule_in_real_time();
        }
        if !self.settings.cores.is_empty() {
            let _ = run_on(&self.settings.cores);
        }
        let reactor = Reactor::new().expect("an event loop needs one descriptor of an empty table");
        let slots = WaitSlots::new(Clock::Real(self.origin), Pacer::default());
        let core = Rc::new(slots.polling(self.settings.poll));
        let (parts, pace) = (self.parts.clone(), Rc::clone(&core));
        let work = self.work(make(), core);
        if let Ok(Some(last)) = reactor.run(work, pace.as_ref()) {
            farewell.taken = true;
            let _ = parts.send(WorkerMessage::Last(last));
        }
    }

    /// Runs the worker to its end. Returns its last interval, or `None` after a panic.
    async fn work<W: Population>(self, workload: W, core: Rc<WaitSlots>) -> Option<Box<Interval>> {
        let worker = Worker::new(&self.settings, self.number, workload, Rc::clone(&core), Spawner::Reactor);
        let cpu = {
            let core = Rc::clone(&core);
            move || core.cpu()
        };
        worker.spawn(Rc::clone(&worker).run_timers(cpu, hand_over(self.parts)));
        let slot = WaitSlots::slot(&core);
        let mut deadline = loop {
            match self.control.try_recv() {
                Ok(Control::Ramp(ramp)) => worker.follow_ramp(ramp),
                Ok(Control::Limit(quota)) => worker.limit(&quota),
                Ok(Control::Stop { drain }) => {
                    worker.give_up();
                    break core.clock.now() + drain;
                }
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if worker.is_spent() => break Nanos::MAX,
                Err(TryRecvError::Empty) => {
                    let look = if worker.users() == 0 { IDLE_LOOK } else { CONTROL_LOOK };
                    slot.until(core.clock.now() + look).await;
                }
            }
            if worker.is_broken() {
                return None;
            }
        };
        worker.deactivate_all();
        while !worker.has_stopped() && core.clock.now() < deadline && !worker.is_broken() {
            slot.until(core.clock.now() + CONTROL_LOOK).await;
            // The operations of a quota may be given up.
            match self.control.try_recv() {
                Ok(Control::Stop { drain }) => {
                    worker.give_up();
                    deadline = deadline.min(core.clock.now() + drain);
                }
                Err(TryRecvError::Disconnected) => return None,
                Ok(_) | Err(TryRecvError::Empty) => {}
            }
        }
        (!worker.is_broken()).then(|| worker.close(core.cpu()))
    }
}

/// Sends closed intervals to the harness. While its queue is full they are joined, so that a stuck harness
/// later gets longer intervals instead of gaps. Returns false when the receiver is gone.
fn hand_over(parts: Sender<WorkerMessage>) -> impl FnMut(Box<Interval>) -> bool {
    let mut kept: Option<Box<Interval>> = None;
    move |interval| {
        let whole = match kept.take() {
            Some(mut before) => {
                before.append(&interval);
                before
            }
            None => interval,
        };
        match parts.try_send(WorkerMessage::Closed(whole)) {
            Ok(()) => true,
            Err(TrySendError::Full(WorkerMessage::Closed(whole))) => {
                kept = Some(whole);
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Merges the intervals of two workers, in seconds and users.
    fn of_two(parts: &[(f64, f64, u32)]) -> Vec<(f64, f64, u32, u64)> {
        let threads = (0..2).map(|_| std::thread::spawn(|| ())).collect();
        let (_, said) = mpsc::channel(1);
        let mut all = Threads {
            origin: now(),
            controls: Vec::new(),
            parts: said,
            threads,
            pending: BTreeMap::new(),
            interval: Nanos(SECOND),
            ended: 0,
        };
        for (from, to, users) in parts {
            let mut part = Interval::new(1);
            (part.from, part.to) = (Nanos::from_secs_f64(*from), Nanos::from_secs_f64(*to));
            (part.users, part.starts) = (*users, 1);
            all.sort_in(Box::new(part));
        }
        let mut whole = Vec::new();
        while let Some(next) = all.take_whole() {
            whole.push((next.from.as_secs_f64(), next.to.as_secs_f64(), next.users, next.starts));
        }
        whole
    }

    #[test]
    fn parts_of_all_workers_make_an_interval() {
        let late = [(0.0, 1.0, 1), (0.0, 1.3, 1), (1.0, 2.0, 1), (1.3, 2.1, 1), (2.0, 3.0, 1)];
        assert_eq!(of_two(&late), [(0.0, 1.3, 2, 2), (1.0, 2.1, 2, 2)]);
    }

    #[test]
    fn a_worker_that_was_blocked_has_its_users_in_each_interval_that_it_missed() {
        let blocked =
            [(0.0, 1.0, 1), (1.0, 2.0, 1), (2.0, 3.0, 1), (3.0, 4.0, 1), (0.0, 2.75, 1), (2.75, 4.0, 1)];
        let expected = [(0.0, 1.0, 2, 1), (1.0, 2.0, 2, 1), (2.0, 3.0, 2, 2), (2.75, 4.0, 2, 2)];
        assert_eq!(of_two(&blocked), expected);
    }

    #[test]
    fn a_short_part_is_counted_for_no_worker() {
        let short = [(0.0, 1.0, 1), (0.0, 0.25, 1), (0.25, 1.0, 1)];
        assert_eq!(of_two(&short), [(0.0, 1.0, 2, 3)]);
    }
}
