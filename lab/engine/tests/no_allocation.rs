//! In steady state the engine allocates nothing for an operation: counted on the worker's own thread.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::Context;

use barograph_engine::{
    Group, GroupFactory, Members, OpContext, Settings, User, UserFactory, runnable, runnable_groups,
};
use barograph_model::{
    Arrivals, Behaviour, Behaviours, ChooserId, Distribution, Nanos, NextOp, OpId, OpenLoop, Outcome, Pace,
    Share, StartOf, UserId, Vector,
};

#[global_allocator]
static ALLOCATOR: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Operations before the count begins, and counted ones.
const WARM: u64 = 5_000;
const COUNTED: u64 = 20_000;

/// Users in a group.
const GROUP: usize = 16;

struct IdleUsers {
    tell: SyncSender<u64>,
}

struct IdleUser {
    done: &'static std::thread::LocalKey<Cell<u64>>,
    at_start: &'static std::thread::LocalKey<Cell<u64>>,
    tell: SyncSender<u64>,
}

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
    static AT_START: Cell<u64> = const { Cell::new(0) };
}

impl UserFactory for IdleUsers {
    type User = IdleUser;
    fn user(&self, _: UserId) -> IdleUser {
        IdleUser { done: &DONE, at_start: &AT_START, tell: self.tell.clone() }
    }
}

impl IdleUser {
    fn count(&self, context: &mut OpContext) {
        context.sent();
        let done = self.done.get() + 1;
        self.done.set(done);
        if done == WARM {
            self.at_start.set(barograph_testkit::allocations());
        } else if done == WARM + COUNTED {
            self.tell.try_send(barograph_testkit::allocations() - self.at_start.get()).expect("told once");
        }
    }
}

impl User for IdleUser {
    async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
        self.count(context);
        Outcome::Good
    }
    fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
        1
    }
    fn end_session(&self) {}
}

/// Users in groups, whose operations end in the poll after their start.
struct IdleGroup {
    idle: IdleUser,
    begun: Vec<usize>,
}

impl GroupFactory for IdleUsers {
    type Group = IdleGroup;

    fn size(&self) -> usize {
        GROUP
    }

    fn group(&self) -> IdleGroup {
        IdleGroup { idle: self.user(UserId(0)), begun: Vec::with_capacity(GROUP) }
    }
}

impl Group for IdleGroup {
    fn join(&mut self, _: usize, _: UserId) {}

    fn begin(&mut self, place: usize, _: OpId, context: &mut OpContext) {
        self.idle.count(context);
        self.begun.push(place);
    }

    fn abandon(&mut self, _: usize) {}

    fn poll(&mut self, _: &mut Context<'_>, members: &mut Members) {
        self.begun.drain(..).for_each(|place| members.end(place, Outcome::Good));
    }

    fn choose(&mut self, _: usize, _: ChooserId, _: &mut OpContext) -> usize {
        1
    }
}

/// Kind of users.
#[derive(Clone, Copy)]
enum Users {
    AsTasks,
    InGroups,
}

fn allocations(users: Users, pace: Pace, open: Option<OpenLoop>, level: u32) -> u64 {
    let half = Share::percent(50.0);
    let vector = NextOp::Vector(Vector::new(vec![(OpId(0), half), (OpId(1), half)]).unwrap());
    let choose = NextOp::Choose { chooser: ChooserId(0), branches: vec![NextOp::Op(OpId(0)), vector] };
    let next = vec![Some(choose), Some(NextOp::EndSession { first: OpId(0) })];
    let main = Behaviour { name: "main", first: OpId(0), next, pace };
    let settings = Settings {
        workers: 1,
        seed: 3,
        behaviours: Arc::new(Behaviours::new(vec![main]).unwrap()),
        limits: [Some(Nanos::from_millis(1)), None].map(Into::into).to_vec(),
        // Closing an interval allocates the next one, once a second and not for each operation.
        interval: Nanos::from_secs(600),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open,
    };
    let (tell, told) = sync_channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let make = move || IdleUsers { tell: tell.clone() };
        let load = match users {
            Users::AsTasks => runnable(make),
            Users::InGroups => runnable_groups(make),
        };
        let mut engine = load.start(&settings).unwrap();
        engine.ramp(level, Nanos::ZERO).await.unwrap();
        let counted = tokio::task::spawn_blocking(move || told.recv()).await.unwrap().unwrap();
        engine.stop(Nanos::ZERO).await;
        while engine.next().await.unwrap().is_some() {}
        counted
    })
}

#[test]
fn a_closed_loop_allocates_nothing() {
    let think = Distribution::Exponential { mean: Nanos::from_millis(1), max: Nanos::from_millis(20) };
    for users in [Users::AsTasks, Users::InGroups] {
        assert_eq!(allocations(users, Pace::Think(think.clone()), None, 50), 0);
    }
}

#[test]
fn an_open_loop_allocates_nothing() {
    let open = OpenLoop {
        arrivals: Arrivals::Poisson,
        start_of: StartOf::Operation,
        // A single user, so that a stall of the machine makes arrivals wait instead of activating new users,
        // which allocates.
        most_users: 1,
        most_waiting: 60_000,
    };
    for users in [Users::AsTasks, Users::InGroups] {
        assert_eq!(allocations(users, Pace::AtOnce, Some(open.clone()), 50_000), 0);
    }
}
