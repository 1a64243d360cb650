//! Common parts of the tests: a store on a thread, and a run that ends on a condition.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{CounterId, Nanos, Outcome, TimeLimits};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_workload::{FailureReason, FillProgress, LoadError, LoadJob, Workload, WorkloadFactory as _};

use crate::seam::KeyValue;
use crate::store::{Store, StoreOptions};
use crate::testing;

/// Most intervals of a tenth of a second in a run: one that needs more hangs.
const MOST_INTERVALS: usize = 600;

/// The embedded store on a thread of its own, which ends with the test's process.
pub(super) fn embedded(max_bytes: u64) -> SocketAddr {
    let (send, address) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listen = ([127, 0, 0, 1], 0).into();
            let store =
                Store::bind(&StoreOptions { listen, max_bytes, max_connections: 1_000 }).await.unwrap();
            send.send(store.address().unwrap()).unwrap();
            store.serve().await;
        });
    });
    address.recv().unwrap()
}

/// A plan with its workload and its destination.
pub(super) struct Load {
    plan: Plan,
    workload: Arc<dyn Workload>,
    url: String,
    pub(super) users: u32,
    pub(super) timeout: Nanos,
}

/// Keys by family, and the last progress report.
pub(super) type FilledKeys = (Vec<(String, u64)>, Option<FillProgress>);

/// Result of a run.
pub(super) struct RunResult {
    names: Vec<&'static str>,
    sum: Interval,
    pub(super) reasons: Vec<FailureReason>,
}

impl Load {
    /// A load with this text under the name of its plan.
    pub(super) fn at(url: &str, text: &str) -> Self {
        let plan = testing::plan(text);
        let workload = KeyValue.of_plan(&plan).unwrap();
        Load { plan, workload, url: url.to_owned(), users: 8, timeout: Nanos::from_secs(30) }
    }

    fn job(&self) -> LoadJob<'_> {
        LoadJob { url: &self.url, plan: &self.plan, data: None }
    }

    /// Fills the stores.
    pub(super) fn fill(&self) -> Result<FilledKeys, LoadError> {
        let last: Arc<Mutex<Option<FillProgress>>> = Arc::default();
        let told = Arc::clone(&last);
        let job = self.job();
        let filling = self.workload.prepare(&job, Arc::new(move |p| *told.lock().unwrap() = Some(p)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let filled = runtime.block_on(filling.expect("there is something to fill"))?;
        let rows = filled.rows.into_iter().map(|row| (row.name, row.count)).collect();
        let last = last.lock().unwrap().take();
        Ok((rows, last))
    }

    /// Drops a fill once it has begun, and waits until its connection is closed.
    pub(super) fn stopped_fill(&self) {
        let (send, begun) = tokio::sync::mpsc::channel(1);
        let job = self.job();
        let told = move |p: FillProgress| {
            if p.done > 0 {
                let _ = send.try_send(p.done);
            }
        };
        let filling = self.workload.prepare(&job, Arc::new(told)).expect("there is something to fill");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut begun = begun;
            tokio::select! {
                _ = filling => panic!("it has more to fill than there is time"),
                done = begun.recv() => assert!(done.is_some()),
            }
            // The sender is in the closure of the progress, which goes with the future.
            assert_eq!(begun.recv().await, None);
        });
    }

    /// Runs until this many commands have ended.
    pub(super) fn until_done(&self, commands: u64) -> RunResult {
        self.until(|ended| ended.count() >= commands)
    }

    /// Runs until `enough` holds.
    pub(super) fn until(&self, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        let profile = self.workload.profiles()[0];
        let names: Vec<&'static str> = self.workload.ops().iter().map(|op| op.name).collect();
        let settings = Settings {
            workers: 1,
            seed: 11,
            behaviours: Arc::new(self.workload.behaviours(profile).unwrap()),
            limits: vec![TimeLimits::default(); names.len()],
            interval: Nanos::from_millis(100),
            timeout: self.timeout,
            pause_after_failure: Nanos::from_secs(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let loaded = self.workload.load(&self.job()).unwrap_or_else(|why| panic!("{why}"));
        let handle = loaded.start(&settings).unwrap();
        let mut ended = RunResult { sum: Interval::new(names.len()), names, reasons: Vec::new() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(ended.follow(handle, self.users, enough));
        ended.reasons = self.workload.failure_reasons();
        ended
    }

    /// The reason why there can be no load.
    pub(super) fn refused(&self) -> LoadError {
        self.workload.load(&self.job()).err().expect("the load should be refused")
    }
}

impl RunResult {
    async fn follow(&mut self, mut handle: EngineHandle, users: u32, enough: impl Fn(&RunResult) -> bool) {
        handle.ramp(users, Nanos::ZERO).await.unwrap();
        for n in 0.. {
            assert!(n < MOST_INTERVALS, "this takes too long: {:?}", self.reasons);
            self.sum.append(&handle.next().await.unwrap().expect("it was not stopped"));
            if enough(self) {
                break;
            }
        }
        handle.stop(Nanos::from_secs(1)).await;
        while let Some(next) = handle.next().await.unwrap() {
            self.sum.append(&next);
        }
    }

    /// Commands that ended.
    pub(super) fn count(&self) -> u64 {
        self.sum.ops.iter().map(|op| op.count()).sum()
    }

    /// Commands of this name with this outcome.
    pub(super) fn outcome(&self, name: &str, outcome: Outcome) -> u64 {
        let at = self.names.iter().position(|known| *known == name).unwrap();
        self.sum.ops[at].outcomes[outcome.index()]
    }

    /// The value of a counter.
    pub(super) fn counter(&self, counter: CounterId) -> u64 {
        self.sum.counters.get(counter)
    }

    /// Asserts that every command of the mix was answered, and none failed.
    pub(super) fn all_good(&self) {
        for (name, op) in self.names.iter().zip(&self.sum.ops) {
            let good = op.outcomes[Outcome::Good.index()];
            assert!(
                good > 0 && op.failed() == 0,
                "{name}: {good} good, {} failed: {:?}",
                op.failed(),
                self.reasons
            );
        }
    }
}
