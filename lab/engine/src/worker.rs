//! One worker: its users, their start and end, and the closing of intervals.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use barograph_model::{Level, Nanos, UserId};
use barograph_stats::Interval;
use futures::FutureExt;

use crate::activity::ActiveUser;
use crate::core::{Signal, SlotKey, WaitSlots, yield_now};
use crate::dispatcher::{Admission, Dispatcher};
use crate::population::Population;
use crate::quota::{Allowance, Quota};
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use crate::{Settings, WorkerShare};

/// Largest number of arrivals handled in a row before other tasks get a turn.
const ARRIVALS_IN_A_ROW: u32 = 32;

/// Number of the random stream of arrivals, which belongs to no user.
const ARRIVALS_STREAM: u32 = u32::MAX;

/// Executor of a worker's tasks.
pub(crate) enum Spawner {
    /// The event loop of this thread.
    Reactor,
    /// The simulation's pool.
    Simulation(futures::executor::LocalSpawner),
}

/// A change of the whole run's load: the number of users, or the starts per second of an open loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    /// Users of the whole run before the change.
    pub(crate) before: Level,
    /// Users, or starts per second, of the whole run after the change.
    pub(crate) after: Level,
    /// Start of the change.
    pub(crate) at: Nanos,
    /// Duration over which the change is spread evenly.
    pub(crate) over: Nanos,
}

impl Ramp {
    /// Returns the users that change, with their instants: up in order, down in reverse order. Users of one
    /// block of `block` numbers change together.
    pub(crate) fn changes(self, block: u64) -> impl Iterator<Item = (UserId, Nanos)> {
        let (before, after) = (self.before.whole(), self.after.whole());
        let up = after >= before;
        let (before, count) = (u64::from(before), u64::from(after.abs_diff(before)));
        (0..count).map(move |k| {
            let user = if up { before + k } else { before - 1 - k };
            let first = if up { (user / block * block).max(before) } else { (user / block + 1) * block - 1 };
            let nth = if up { first - before } else { before - 1 - first.min(before - 1) };
            let offset = u128::from(self.over.0) * u128::from(nth) / u128::from(count);
            (UserId(user as u32), self.at + Nanos(offset as u64))
        })
    }
}

/// A user that becomes active.
#[derive(Clone, Copy)]
pub struct UserEntry {
    pub(crate) id: UserId,
    /// Number of its life, from 1.
    pub(crate) life: u32,
    /// Intended start of its first operation.
    pub(crate) at: Nanos,
}

/// A worker and everything it owns.
pub struct Worker<W: Population> {
    pub(crate) core: Rc<WaitSlots>,
    pub(crate) settings: Settings,
    pub(crate) recorder: RefCell<Recorder>,
    number: WorkerNumber,
    pub(crate) population: W,
    spawner: Spawner,
    seats: RefCell<HashMap<u32, Rc<ActiveUser<W::User>>>>,
    lives: RefCell<HashMap<u32, u32>>,
    /// Open loop: meeting of arrivals and users.
    pub(crate) gate: Option<Dispatcher<W::User>>,
    schedule: RefCell<Option<Schedule>>,
    /// Operations that may start in a closed loop.
    pub(crate) starts: Allowance,
    /// Arrivals that may start in an open loop.
    arrivals: Allowance,
    quota: RefCell<Option<Arc<Quota>>>,
    /// Whether its operations of the quota have ended.
    ended: Cell<bool>,
    ramp: Cell<Option<SlotKey>>,
    /// Number of users that have not ended, stopping ones included.
    pub(crate) running: Cell<usize>,
    broken: Rc<Cell<bool>>,
}

/// Number of a worker in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerNumber {
    /// Index, from 0 over all drivers.
    index: usize,
    /// Number of workers of all drivers.
    of: usize,
}

impl WorkerNumber {
    /// Number of worker `nth` of a driver with this place; `None` for the only driver.
    pub(crate) fn new(settings: &Settings, place: Option<WorkerShare>, nth: usize) -> Self {
        let place = place.unwrap_or(WorkerShare { first: 0, total: settings.workers });
        WorkerNumber { index: place.first + nth, of: place.total }
    }
}

impl<W: Population> Worker<W> {
    pub(crate) fn new(
        settings: &Settings,
        number: WorkerNumber,
        population: W,
        core: Rc<WaitSlots>,
        spawner: Spawner,
    ) -> Rc<Self> {
        let arrivals_stream = || crate::stream(settings.seed, ARRIVALS_STREAM, 0);
        Rc::new(Worker {
            gate: settings.open.as_ref().map(|open| Dispatcher::new(open, number.index, number.of)),
            schedule: RefCell::new(
                settings.open.as_ref().map(|open| Schedule::new(open.arrivals.clone(), arrivals_stream())),
            ),
            starts: Allowance::endless(),
            arrivals: Allowance::endless(),
            quota: RefCell::default(),
            ended: Cell::new(false),
            core,
            recorder: RefCell::new(Recorder::new(settings.limits.clone())),
            settings: settings.clone(),
            number,
            population,
            spawner,
            seats: RefCell::default(),
            lives: RefCell::default(),
            ramp: Cell::new(None),
            running: Cell::new(0),
            broken: Rc::default(),
        })
    }

    /// Runs `task` on this worker. A task that panics breaks the worker: a user that silently stops would
    /// make the figures wrong.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        match &self.spawner {
            Spawner::Reactor => {
                let broken = Rc::clone(&self.broken);
                // Mapped rather than awaited: an async block would hold the memory of the task twice.
                let guarded = std::panic::AssertUnwindSafe(task).catch_unwind();
                barograph_reactor::spawn(guarded.map(move |end| broken.set(broken.get() || end.is_err())));
            }
            Spawner::Simulation(pool) => {
                use futures::task::LocalSpawnExt;
                pool.spawn_local(task).expect("the simulation outlives its tasks");
            }
        }
    }

    /// Whether a task of this worker has panicked.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Returns the number of users active on this worker.
    pub(crate) fn users(&self) -> u32 {
        self.seats.borrow().len() as u32
    }

    /// Returns the number of users that have not ended, stopping ones included.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Ends the load after the operations of a quota.
    pub(crate) fn limit(&self, quota: &Arc<Quota>) {
        *self.quota.borrow_mut() = Some(Arc::clone(quota));
        match &self.gate {
            Some(_) => self.arrivals.deal(Arc::clone(quota), (self.number.index, self.number.of)),
            None => self.starts.share(Arc::clone(quota)),
        }
    }

    /// Whether no operation is left for this worker to begin.
    pub(crate) fn is_spent(&self) -> bool {
        match &self.gate {
            Some(gate) => self.arrivals.is_spent() && gate.is_idle(self.users()),
            None => self.starts.is_spent(),
        }
    }

    /// Stops waiting for the operations of the quota.
    pub(crate) fn give_up(&self) {
        *self.quota.borrow_mut() = None;
    }

    /// Whether every user has stopped and, with a quota, every operation of it has ended, on any worker.
    pub(crate) fn has_stopped(&self) -> bool {
        let recorder = self.recorder.borrow();
        match &*self.quota.borrow() {
            None => self.running() == 0,
            Some(_) if self.running() > 0 || recorder.in_flight() > 0 => false,
            Some(quota) => {
                self.end(quota, &recorder);
                quota.is_over()
            }
        }
    }

    /// Notes once that all its operations of a quota have ended.
    fn end(&self, quota: &Quota, recorder: &Recorder) {
        if !self.ended.replace(true) {
            quota.worker_ended(recorder.latest());
        }
    }

    /// Closes the open interval. Operations of a quota that have all ended are noted before, as the interval is cut off
    /// at the last end.
    pub(crate) fn close(&self, cpu: Nanos) -> Box<Interval> {
        let mut recorder = self.recorder.borrow_mut();
        if let Some(quota) = &*self.quota.borrow()
            && self.is_spent()
            && recorder.in_flight() == 0
        {
            self.end(quota, &recorder);
        }
        recorder.close(self.core.clock.now(), self.users(), cpu)
    }

    /// Follows a ramp from now on; a ramp in progress is abandoned at its current level.
    pub(crate) fn follow_ramp(self: &Rc<Self>, ramp: Ramp) {
        if let Some(old) = self.ramp.take() {
            self.core.signal(old, Signal::Cancel);
        }
        if self.gate.is_some() {
            self.follow_rate(ramp);
        } else {
            self.follow_users(ramp);
        }
    }

    /// Open loop: follows the new rate of arrivals from now on.
    fn follow_rate(self: &Rc<Self>, ramp: Ramp) {
        let slot = WaitSlots::slot(&self.core);
        self.ramp.set(Some(slot.key));
        if let Some(schedule) = &mut *self.schedule.borrow_mut() {
            schedule.change(ramp.at, f64::from(ramp.after), ramp.over);
        }
        let worker = Rc::clone(self);
        self.spawn(async move {
            let mut in_a_row = 0;
            while let Some(at) = worker.next_arrival() {
                if !slot.until(at).await || !worker.arrivals.take(&worker.core.clock) {
                    return;
                }
                if let Some(schedule) = &mut *worker.schedule.borrow_mut() {
                    schedule.advance_of(worker.number.index, worker.number.of);
                }
                worker.arrive(at);
                in_a_row += 1;
                if in_a_row >= ARRIVALS_IN_A_ROW {
                    in_a_row = 0;
                    // Otherwise a late worker would keep its tasks from answers that have arrived.
                    yield_now().await;
                }
            }
        });
    }

    fn next_arrival(&self) -> Option<Nanos> {
        self.schedule.borrow().as_ref()?.peek_of(self.number.index, self.number.of)
    }

    /// Handles a due arrival: calls a user, makes one, lets it wait, or drops it.
    fn arrive(self: &Rc<Self>, at: Nanos) {
        let Some(gate) = &self.gate else { return };
        let users = self.users();
        match gate.arrive(&self.core, at, users) {
            Admission::Called => {}
            Admission::NoneFree => {
                let id = users as usize * self.number.of + self.number.index;
                self.activate(UserId(id as u32), at);
            }
            Admission::Late => self.recorder.borrow_mut().late(),
            Admission::Dropped => {
                self.recorder.borrow_mut().dropped();
                self.arrivals.give_back();
            }
        }
    }

    /// Closed loop: starts or stops users one after another.
    fn follow_users(self: &Rc<Self>, ramp: Ramp) {
        // An abandoned ramp may have left out users that both numbers include, or started users that neither
        // includes.
        let (before, after) = (ramp.before.whole(), ramp.after.whole());
        let most = before.max(after);
        let beyond: Vec<u32> = self.seats.borrow().keys().copied().filter(|user| *user >= most).collect();
        for user in beyond {
            self.deactivate(UserId(user));
        }
        for user in (0..before.min(after)).filter(|user| self.is_mine(*user)) {
            self.activate(UserId(user), ramp.at);
        }
        let slot = WaitSlots::slot(&self.core);
        let key = slot.key;
        self.ramp.set(Some(key));
        let worker = Rc::clone(self);
        let up = after >= before;
        self.spawn(async move {
            let block = match worker.population.together() {
                1 => 1,
                users => (worker.number.of * users) as u64,
            };
            for (user, at) in ramp.changes(block).filter(|(user, _)| worker.is_mine(user.0)) {
                if !slot.until(at).await {
                    return;
                }
                if up {
                    worker.activate(user, at);
                } else {
                    worker.deactivate(user);
                }
            }
            if worker.ramp.get() == Some(key) {
                worker.ramp.set(None);
            }
        });
    }

    /// Whether a user belongs to this worker; users are dealt to workers in turn.
    fn is_mine(&self, user: u32) -> bool {
        user as usize % self.number.of == self.number.index
    }

    fn activate(self: &Rc<Self>, id: UserId, at: Nanos) {
        if self.seats.borrow().contains_key(&id.0) {
            return;
        }
        let life = {
            let mut lives = self.lives.borrow_mut();
            let life = lives.entry(id.0).or_insert(0);
            *life += 1;
            *life
        };
        self.running.set(self.running.get() + 1);
        let seat = W::enter(self, UserEntry { id, life, at });
        self.seats.borrow_mut().insert(id.0, seat);
    }

    /// Stops a user: its followers end now, its main behaviour after the current operation.
    fn deactivate(&self, id: UserId) {
        let Some(seat) = self.seats.borrow_mut().remove(&id.0) else { return };
        seat.stopping.set(true);
        // Begun operations of a quota are completed.
        if !self.starts.is_spent() {
            seat.stop_others(&self.core, None);
        }
        if let Some(main) = seat.main.get().filter(|_| !seat.main_in_operation.get()) {
            self.core.signal(main, Signal::Cancel);
        }
    }

    /// Tells every user to stop.
    pub(crate) fn deactivate_all(&self) {
        if let Some(ramp) = self.ramp.take() {
            self.core.signal(ramp, Signal::Cancel);
        }
        if let Some(gate) = &self.gate {
            gate.close();
        }
        let ids: Vec<u32> = self.seats.borrow().keys().copied().collect();
        for id in ids {
            self.deactivate(UserId(id));
        }
    }

    /// Closes intervals on time and expires operations, until `hand_over` refuses an interval.
    pub(crate) async fn run_timers(
        self: Rc<Self>,
        cpu: impl Fn() -> Nanos,
        mut hand_over: impl FnMut(Box<Interval>) -> bool,
    ) {
        let slot = WaitSlots::slot(&self.core);
        let interval = self.settings.interval;
        let mut closes = interval;
        let each = self.settings.sweep();
        let mut sweep = each;
        loop {
            slot.until(closes.min(sweep)).await;
            let now = self.core.clock.now();
            if now >= sweep {
                self.core.expire(now);
                sweep = now + each;
            }
            if now >= closes {
                if !hand_over(self.close(cpu())) {
                    return;
                }
                // On the grid even if late, so that the intervals of all workers stay aligned.
                closes = Nanos((now.0 / interval.0 + 1) * interval.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_spreads_its_changes_evenly_up_and_down() {
        let up = ramp(2, 6, (100, 40));
        assert_eq!(changes(up, 1), [(2, 100), (3, 110), (4, 120), (5, 130)]);
        let down = ramp(6, 4, (0, 10));
        assert_eq!(changes(down, 1), [(5, 0), (4, 5)]);
        assert_eq!(ramp(3, 3, (0, 1)).changes(1).count(), 0);
    }

    #[test]
    fn users_of_a_block_change_together() {
        let up = ramp(2, 8, (100, 60));
        assert_eq!(changes(up, 3), [(2, 100), (3, 110), (4, 110), (5, 110), (6, 140), (7, 140)]);
        let down = ramp(8, 2, (0, 60));
        assert_eq!(changes(down, 3), [(7, 0), (6, 0), (5, 20), (4, 20), (3, 20), (2, 50)]);
    }

    fn ramp(before: u32, after: u32, (at, over): (u64, u64)) -> Ramp {
        Ramp { before: before.into(), after: after.into(), at: Nanos(at), over: Nanos(over) }
    }

    fn changes(ramp: Ramp, block: u64) -> Vec<(u32, u64)> {
        ramp.changes(block).map(|(user, at)| (user.0, at.0)).collect()
    }
}
