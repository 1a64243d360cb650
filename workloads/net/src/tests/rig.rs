//! A load against a responder or another peer, which runs until a condition holds.

use std::net::SocketAddr;
use std::sync::Arc;

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{CounterId, Nanos, OpenLoop, Outcome, TimeLimits};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_workload::{FailureReason, LoadError, LoadJob, VerifyResult, Workload, WorkloadFactory as _};

use crate::responder::Responder;
use crate::seam::Net;

/// Most intervals of a tenth of a second in a run: one that needs more hangs.
const MOST_INTERVALS: usize = 600;

/// A responder on a free port.
pub(super) fn responder() -> Responder {
    Responder::start(([127, 0, 0, 1], 0).into(), 1_000).unwrap()
}

/// A plan with its workload and its target.
pub(super) struct Load {
    plan: Plan,
    workload: Arc<dyn Workload>,
    url: String,
    pub(super) users: u32,
    pub(super) timeout: Nanos,
}

/// Result of a run.
pub(super) struct RunResult {
    names: Vec<&'static str>,
    pub(super) sum: Interval,
    pub(super) reasons: Vec<FailureReason>,
    pub(super) verified: Result<VerifyResult, String>,
}

impl Load {
    /// A load with this text under the name of its plan.
    pub(super) fn at(address: SocketAddr, text: &str) -> Self {
        let plan = super::plan(text);
        let workload = Net.of_plan(&plan).unwrap();
        Load { plan, workload, url: format!("net://{address}"), users: 4, timeout: Nanos::from_secs(30) }
    }

    /// Runs until this many messages have ended.
    pub(super) fn until_done(&self, messages: u64) -> RunResult {
        self.until(|ended| ended.count() >= messages)
    }

    /// Runs until `enough` holds, and compares the bytes of both ends.
    pub(super) fn until(&self, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        self.paced(None, enough)
    }

    /// As [`Load::until`], in an open loop if there is one.
    pub(super) fn paced(&self, open: Option<OpenLoop>, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        let profile = self.workload.profiles()[0];
        let names: Vec<&'static str> = self.workload.ops().iter().map(|op| op.name).collect();
        let settings = Settings {
            workers: 1,
            seed: 11,
            behaviours: Arc::new(self.workload.behaviours(profile).unwrap()),
            limits: vec![TimeLimits::default(); names.len()],
            interval: Nanos::from_millis(100),
            timeout: self.timeout,
            pause_after_failure: Nanos::from_millis(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open,
        };
        let job = LoadJob { url: &self.url, plan: &self.plan, data: None };
        let loaded = self.workload.load(&job).unwrap_or_else(|why| panic!("{why}"));
        let handle = loaded.start(&settings).unwrap();
        let verified = Err(String::new());
        let mut ended = RunResult { sum: Interval::new(names.len()), names, reasons: Vec::new(), verified };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(ended.follow(handle, self.users, enough));
        let check = self.workload.application().unwrap().verify(&self.url).unwrap();
        ended.verified = runtime.block_on(check);
        ended.reasons = self.workload.failure_reasons();
        ended
    }

    /// The reason why there can be no load.
    pub(super) fn refused(&self) -> LoadError {
        let job = LoadJob { url: &self.url, plan: &self.plan, data: None };
        self.workload.load(&job).err().expect("the load should be refused")
    }
}

impl RunResult {
    async fn follow(&mut self, mut handle: EngineHandle, level: u32, enough: impl Fn(&RunResult) -> bool) {
        handle.ramp(level, Nanos::ZERO).await.unwrap();
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

    /// Messages that ended.
    pub(super) fn count(&self) -> u64 {
        self.sum.ops.iter().map(|op| op.count()).sum()
    }

    /// Messages of this name with this outcome.
    pub(super) fn outcome(&self, name: &str, outcome: Outcome) -> u64 {
        let at = self.names.iter().position(|known| *known == name).unwrap();
        self.sum.ops[at].outcomes[outcome.index()]
    }

    /// The value of a counter.
    pub(super) fn counter(&self, counter: CounterId) -> u64 {
        self.sum.counters.get(counter)
    }

    /// Asserts that all went well, and that both ends count the same bytes.
    pub(super) fn assert_clean(&self) {
        for (name, op) in self.names.iter().zip(&self.sum.ops) {
            let good = op.outcomes[Outcome::Good.index()];
            assert!(good > 0 && op.failed() == 0, "{name}: {good} good: {:?}", self.reasons);
        }
        let verified = self.verified.as_ref().unwrap();
        assert!(verified.ok && verified.findings.len() == 1, "{:?}", verified.findings);
    }
}
