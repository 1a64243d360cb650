//! One worker: its users, who comes and who goes, and the closing of intervals.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use barograph_model::{Level, Nanos, UserId};
use barograph_stats::Interval;
use futures::FutureExt;

use crate::activity::Seat;
use crate::core::{Core, Signal, SlotKey, breathe};
use crate::gate::{Gate, Met};
use crate::population::Population;
use crate::quota::{Allowance, Quota};
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use crate::{Place, Settings};

/// Arrivals that are due together and handed out before others may go on.
const ARRIVALS_IN_A_ROW: u32 = 32;

/// The random stream of arrivals belongs to no user.
const ARRIVALS_STREAM: u32 = u32::MAX;

/// Where a worker's tasks go.
pub(crate) enum Spawner {
    /// The event loop of this thread.
    Reactor,
    /// The simulation's pool.
    Simulation(futures::executor::LocalSpawner),
}

/// Change the load of the whole run: the number of users, or the starts per second of an open loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    /// Users of the whole run before.
    pub(crate) before: Level,
    /// Users, or starts per second, of the whole run after.
    pub(crate) after: Level,
    /// When the first change is due.
    pub(crate) at: Nanos,
    /// Over how long the changes are spread evenly.
    pub(crate) over: Nanos,
}

impl Ramp {
    /// The users that change, with the instants at which they do: up in order, down in reverse order. Users of one block,
    /// each of `block` numbers, change together.
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
pub struct Entering {
    pub(crate) id: UserId,
    /// From 1.
    pub(crate) life: u32,
    /// When its first operation is due.
    pub(crate) at: Nanos,
}

/// One worker and everything it owns.
pub struct Worker<W: Population> {
    pub(crate) core: Rc<Core>,
    pub(crate) settings: Settings,
    pub(crate) recorder: RefCell<Recorder>,
    number: Number,
    pub(crate) population: W,
    spawner: Spawner,
    seats: RefCell<HashMap<u32, Rc<Seat<W::User>>>>,
    lives: RefCell<HashMap<u32, u32>>,
    /// Open loop: where arrivals meet users.
    pub(crate) gate: Option<Gate<W::User>>,
    schedule: RefCell<Option<Schedule>>,
    /// Operations that may start in a closed loop.
    pub(crate) starts: Allowance,
    /// Arrivals that may come in an open loop.
    arrivals: Allowance,
    quota: RefCell<Option<Arc<Quota>>>,
    /// Its operations of the quota have ended.
    ended: Cell<bool>,
    ramp: Cell<Option<SlotKey>>,
    /// Users that have not ended.
    pub(crate) running: Cell<usize>,
    broken: Rc<Cell<bool>>,
}

/// Which worker of the run this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// From 0, over all drivers.
    index: usize,
    /// Workers of all drivers.
    of: usize,
}

impl Number {
    /// Worker `nth` of a driver with this place; `None` for the only driver.
    pub(crate) fn new(settings: &Settings, place: Option<Place>, nth: usize) -> Self {
        let place = place.unwrap_or(Place { first: 0, total: settings.workers });
        Number { index: place.first + nth, of: place.total }
    }
}

impl<W: Population> Worker<W> {
    pub(crate) fn new(
        settings: &Settings,
        number: Number,
        population: W,
        core: Rc<Core>,
        spawner: Spawner,
    ) -> Rc<Self> {
        let arrivals_stream = || crate::stream(settings.seed, ARRIVALS_STREAM, 0);
        Rc::new(Worker {
            gate: settings.open.as_ref().map(|open| Gate::new(open, number.index, number.of)),
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

    /// Runs `task` on this worker. A task that panics breaks the worker: a user that silently stops would make the
    /// figures wrong.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        match &self.spawner {
            Spawner::Reactor => {
                let broken = Rc::clone(&self.broken);
                // Mapped rather than awaited: an async block would hold the room for the task twice.
                let guarded = std::panic::AssertUnwindSafe(task).catch_unwind();
                barograph_reactor::spawn(guarded.map(move |end| broken.set(broken.get() || end.is_err())));
            }
            Spawner::Simulation(pool) => {
                use futures::task::LocalSpawnExt;
                pool.spawn_local(task).expect("the simulation outlives its tasks");
            }
        }
    }

    /// Has a task of this worker panicked?
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Users active on this worker.
    pub(crate) fn users(&self) -> u32 {
        self.seats.borrow().len() as u32
    }

    /// Activities that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// The load is over after the operations of a quota.
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

    /// The operations of the quota are not waited for.
    pub(crate) fn give_up(&self) {
        *self.quota.borrow_mut() = None;
    }

    /// Whether every user has stopped, and with a quota every operation of it has ended, on whichever worker.
    pub(crate) fn has_stopped(&self) -> bool {
        let recorder = self.recorder.borrow();
        match &*self.quota.borrow() {
            None => self.running() == 0,
            Some(_) if self.running() > 0 || recorder.in_flight() > 0 => false,
            Some(quota) => {
                if !self.ended.replace(true) {
                    quota.worker_ended(recorder.latest());
                }
                quota.is_over()
            }
        }
    }

    /// Follows a ramp from now on; a ramp still going on is given up where it stands.
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

    /// Open loop: from now on arrivals come as the new rate says.
    fn follow_rate(self: &Rc<Self>, ramp: Ramp) {
        let slot = Core::slot(&self.core);
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
                    // Behind its schedule it would otherwise keep everybody else from the answers that are there.
                    breathe().await;
                }
            }
        });
    }

    fn next_arrival(&self) -> Option<Nanos> {
        self.schedule.borrow().as_ref()?.peek_of(self.number.index, self.number.of)
    }

    /// An arrival is due: call a user, make one, let it wait, or drop it.
    fn arrive(self: &Rc<Self>, at: Nanos) {
        let Some(gate) = &self.gate else { return };
        let users = self.users();
        match gate.arrive(&self.core, at, users) {
            Met::Called => {}
            Met::NoneFree => {
                let id = users as usize * self.number.of + self.number.index;
                self.activate(UserId(id as u32), at);
            }
            Met::Late => self.recorder.borrow_mut().late(),
            Met::Dropped => {
                self.recorder.borrow_mut().dropped();
                self.arrivals.give_back();
            }
        }
    }

    /// Closed loop: users come or go one after the other.
    fn follow_users(self: &Rc<Self>, ramp: Ramp) {
        // A ramp that was given up may have left users out that both numbers include, or in that neither does.
        let (before, after) = (ramp.before.whole(), ramp.after.whole());
        let most = before.max(after);
        let beyond: Vec<u32> = self.seats.borrow().keys().copied().filter(|user| *user >= most).collect();
        for user in beyond {
            self.deactivate(UserId(user));
        }
        for user in (0..before.min(after)).filter(|user| self.is_mine(*user)) {
            self.activate(UserId(user), ramp.at);
        }
        let slot = Core::slot(&self.core);
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

    /// Users are dealt out to workers in turn.
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
        let seat = W::enter(self, Entering { id, life, at });
        self.seats.borrow_mut().insert(id.0, seat);
    }

    /// Tells a user to stop: its followers end now, its main behaviour after the operation it is in.
    fn deactivate(&self, id: UserId) {
        let Some(seat) = self.seats.borrow_mut().remove(&id.0) else { return };
        seat.stopping.set(true);
        // What was begun of a quota ends.
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
    pub(crate) async fn keep_house(
        self: Rc<Self>,
        cpu: impl Fn() -> Nanos,
        mut hand_over: impl FnMut(Box<Interval>) -> bool,
    ) {
        let slot = Core::slot(&self.core);
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
                let done = self.recorder.borrow_mut().close(now, self.users(), cpu());
                if !hand_over(done) {
                    return;
                }
                // On the grid even when late, so that the intervals of all workers stay side by side.
                closes = Nanos((now.0 / interval.0 + 1) * interval.0);
            }
        }
    }

    /// Closes the open interval early: the last one of a run.
    pub(crate) fn last_interval(&self, cpu: Nanos) -> Box<Interval> {
        let now = self.core.clock.now();
        self.recorder.borrow_mut().close(now, self.users(), cpu)
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
