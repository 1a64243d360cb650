//! Users that block: each has a thread, their operations overlap, times are those of the thread, files those
//! of the process, cores those of the settings.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;

use barograph_engine::{BlockingFactory, BlockingUser, OpContext, Settings, runnable_threads};
use barograph_model::{
    Behaviour, Behaviours, CounterId, Nanos, NextOp, OpId, Outcome, Pace, TimeLimits, UserId,
};
use rustix::thread::{CpuSet, sched_getaffinity};

const USERS: usize = 3;

/// Nanoseconds that users waited for one another.
const WAITED_NS: CounterId = CounterId(0);

/// A file used by all threads.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

struct BarrierUsers {
    file: Arc<File>,
    all_there: Arc<Barrier>,
    threads: Arc<Mutex<BTreeSet<(u32, String)>>>,
}

struct BarrierUser {
    file: Arc<File>,
    user: u32,
    met: u32,
    all_there: Arc<Barrier>,
    threads: Arc<Mutex<BTreeSet<(u32, String)>>>,
}

impl BlockingFactory for BarrierUsers {
    type User = BarrierUser;

    fn user(&self, id: UserId) -> BarrierUser {
        BarrierUser {
            file: Arc::clone(&self.file),
            user: id.0,
            met: 0,
            all_there: Arc::clone(&self.all_there),
            threads: Arc::clone(&self.threads),
        }
    }
}

impl BlockingUser for BarrierUser {
    /// Ends when the operations of all users are in progress.
    fn act(&mut self, _: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        if self.met < 5 {
            context.timed(WAITED_NS, || self.all_there.wait());
            self.met += 1;
        }
        let (open, named) = (self.file.metadata().unwrap(), std::fs::metadata(FILE).unwrap());
        assert_eq!((open.dev(), open.ino()), (named.dev(), named.ino()));
        let thread: ThreadId = std::thread::current().id();
        self.threads.lock().unwrap().insert((self.user, format!("{thread:?}")));
        Outcome::Good
    }
}

/// Settings for one thread per user.
fn settings() -> Settings {
    let next = vec![Some(NextOp::Op(OpId(0)))];
    let main = Behaviour { name: "main", first: OpId(0), next, pace: Pace::AtOnce };
    Settings {
        workers: USERS,
        seed: 1,
        behaviours: Arc::new(Behaviours::new(vec![main]).unwrap()),
        limits: vec![TimeLimits::default()],
        interval: Nanos::from_millis(50),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    }
}

#[test]
fn operations_of_users_block_side_by_side() {
    let all_there = Arc::new(Barrier::new(USERS));
    let threads = Arc::<Mutex<BTreeSet<_>>>::default();
    let shared = Arc::clone(&threads);
    let file = Arc::new(File::open(FILE).unwrap());
    let load = runnable_threads(move || BarrierUsers {
        file: Arc::clone(&file),
        all_there: Arc::clone(&all_there),
        threads: Arc::clone(&shared),
    });
    let mut load = load.start(&settings()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ended = runtime.block_on(async {
        load.ramp(USERS as u32, Nanos::ZERO).await.unwrap();
        let mut all = load.next().await.unwrap().unwrap();
        while all.ops[0].count() < 1_000 {
            all.append(&load.next().await.unwrap().unwrap());
        }
        load.stop(Nanos::from_secs(1)).await;
        while let Some(next) = load.next().await.unwrap() {
            all.append(&next);
        }
        all
    });
    assert_eq!(ended.ops[0].failed(), 0);
    // The part of the operations that is timed separately takes no longer than all of them.
    let waited_s = ended.counters.get(WAITED_NS) as f64 / 1e9;
    assert!(waited_s > 0.0 && waited_s <= ended.ops[0].service_sum_s, "{waited_s}");
    assert_eq!(ended.ops[0].requests, ended.ops[0].count());
    let threads = threads.lock().unwrap();
    let (users, names): (BTreeSet<_>, BTreeSet<_>) = threads.iter().cloned().unzip();
    assert_eq!((users.len(), names.len(), threads.len()), (USERS, USERS, USERS), "{threads:?}");
}

/// A user that counts its operations.
struct CountingUser(Arc<AtomicU64>);

impl BlockingFactory for CountingUser {
    type User = CountingUser;

    fn user(&self, _: UserId) -> CountingUser {
        CountingUser(Arc::clone(&self.0))
    }
}

impl BlockingUser for CountingUser {
    fn act(&mut self, _: OpId, _: &mut OpContext) -> Outcome {
        self.0.fetch_add(1, Ordering::Relaxed);
        Outcome::Good
    }
}

#[test]
fn threads_do_exactly_the_operations_of_a_load() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for operations in [1, 2, 1_000, 100_003] {
        let done = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&done);
        let load = runnable_threads(move || CountingUser(Arc::clone(&counted)));
        let mut load = load.start(&settings()).unwrap();
        let ended = runtime.block_on(async {
            load.limit(operations).unwrap();
            load.ramp(USERS as u32, Nanos::ZERO).await.unwrap();
            let mut ended = 0;
            while let Some(next) = load.next().await.unwrap() {
                ended += next.ops[0].count();
            }
            ended
        });
        assert_eq!((ended, done.load(Ordering::Relaxed)), (operations, operations));
        assert!(load.first_start().unwrap() <= load.last_end().unwrap());
    }
}

/// A user that notes the cores that its thread may run on.
struct CoreUser(Arc<Mutex<Vec<CpuSet>>>);

impl BlockingFactory for CoreUser {
    type User = CoreUser;

    fn user(&self, _: UserId) -> CoreUser {
        CoreUser(Arc::clone(&self.0))
    }
}

impl BlockingUser for CoreUser {
    fn act(&mut self, _: OpId, _: &mut OpContext) -> Outcome {
        self.0.lock().unwrap().push(sched_getaffinity(None).unwrap());
        Outcome::Good
    }
}

#[test]
fn workers_run_on_the_cores_of_the_settings() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).unwrap();
    let mut only = CpuSet::new();
    only.set(first);
    for (cores, expected) in [(vec![], all), (vec![first], only)] {
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let shared = Arc::clone(&seen);
        let load = runnable_threads(move || CoreUser(Arc::clone(&shared)));
        let mut load = load.start(&Settings { cores, ..settings() }).unwrap();
        runtime.block_on(async {
            load.limit(10).unwrap();
            load.ramp(USERS as u32, Nanos::ZERO).await.unwrap();
            while load.next().await.unwrap().is_some() {}
        });
        let seen = seen.lock().unwrap();
        assert!(seen.len() == 10 && seen.iter().all(|set| *set == expected));
    }
    assert!(sched_getaffinity(None).unwrap() == all, "this thread is as it was");
}
