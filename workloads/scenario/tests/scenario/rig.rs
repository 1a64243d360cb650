//! Common parts of the tests: a server that records its requests, and a run that ends on a condition.

use std::path::Path;
use std::sync::{Arc, Mutex};

use barograph_engine::{EngineHandle, Settings};
use barograph_http::{Options as Reach, Policy, ResolvedTarget, Target};
use barograph_model::{Nanos, OpId, Outcome};
use barograph_scenario::Scenario;
use barograph_stats::Interval;
use barograph_testkit::{Act, Answer, Request, Server};
use barograph_workload_scenario::{Options, Reason, Reasons, runnable};

/// Most intervals of a tenth of a second in a run: one that needs more hangs.
const MOST_INTERVALS: usize = 600;

/// 2026-01-31T23:59:59.123Z
pub(crate) fn clock() -> Nanos {
    Nanos(1_769_903_999_123_000_000)
}

/// Reads a scenario; files it names are relative to the examples.
pub(crate) fn scenario(text: &str) -> Arc<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let read = barograph_scenario::read("test", text, &|path: &Path| std::fs::read(folder.join(path)));
    Arc::new(read.unwrap_or_else(|refused| panic!("{refused}")))
}

/// A server with given answers, and its requests.
pub(crate) struct RecordingServer {
    pub(crate) server: Server,
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
}

/// Starts such a server.
pub(crate) fn answering(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> RecordingServer {
    let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let script = move |request: &Request| {
        noted.lock().unwrap().push(request.clone());
        Act::Answer(answer(request))
    };
    RecordingServer { server: Server::start(Arc::new(script)).unwrap(), asked }
}

impl RecordingServer {
    pub(crate) fn run(&self, text: &str) -> Run {
        let scenario = scenario(text);
        Run::new(scenario, ResolvedTarget::at(self.server.addr(), Policy::PerUser(6)))
    }

    /// Methods and paths of all requests, in order of arrival.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|r| format!("{} {}", r.method, r.path)).collect()
    }
}

/// A run to be made.
pub(crate) struct Run {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) target: ResolvedTarget,
    pub(crate) users: u32,
    pub(crate) workers: usize,
    pub(crate) timeout: Nanos,
}

/// Result of a run.
pub(crate) struct RunResult {
    scenario: Arc<Scenario>,
    sum: Interval,
    reasons: Arc<Mutex<Reasons>>,
}

impl Run {
    pub(crate) fn new(scenario: Arc<Scenario>, target: ResolvedTarget) -> Self {
        // Ends a hanging run; a machine may take the processor away for seconds.
        Run { scenario, target, users: 1, workers: 1, timeout: Nanos::from_secs(30) }
    }

    /// A run against a whole address.
    pub(crate) fn at(text: &str, url: &str) -> Self {
        let target = Target::parse(url, &Reach::default()).unwrap().resolve().unwrap();
        Run::new(scenario(text), target)
    }

    /// Runs until `enough` holds.
    pub(crate) fn until(self, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        let settings = Settings {
            workers: self.workers,
            seed: 11,
            behaviours: Arc::new(self.scenario.behaviours.clone()),
            limits: self.scenario.limits(),
            interval: Nanos::from_millis(100),
            timeout: self.timeout,
            pause_after_failure: Nanos::from_secs(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let reasons = Reasons::shared();
        let options = Options { clock, reasons: Arc::clone(&reasons) };
        let workload = runnable(Arc::clone(&self.scenario), self.target, options).unwrap();
        let handle = workload.start(&settings).unwrap();
        let sum = Interval::new(self.scenario.operations.len());
        let mut ended = RunResult { scenario: self.scenario, sum, reasons };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(ended.follow(handle, self.users, enough));
        ended
    }

    /// Runs until the operation of this name has ended `count` times.
    pub(crate) fn until_done(self, operation: &str, count: u64) -> RunResult {
        self.until(|ended| ended.count(operation) >= count)
    }
}

impl RunResult {
    async fn follow(&mut self, mut handle: EngineHandle, users: u32, enough: impl Fn(&RunResult) -> bool) {
        handle.ramp(users, Nanos::ZERO).await.unwrap();
        for n in 0.. {
            assert!(n < MOST_INTERVALS, "this takes too long: {}", self.told());
            let next = handle.next().await.unwrap().expect("nobody stopped it");
            self.sum.append(&next);
            if enough(self) {
                break;
            }
        }
        handle.stop(Nanos::from_secs(1)).await;
        while let Some(next) = handle.next().await.unwrap() {
            self.sum.append(&next);
        }
    }

    fn op(&self, operation: &str) -> OpId {
        let at = self.scenario.operations.iter().position(|o| o.name == operation);
        OpId(at.unwrap_or_else(|| panic!("no operation {operation}")) as u8)
    }

    /// Number of operations with this outcome.
    pub(crate) fn outcome(&self, operation: &str, outcome: Outcome) -> u64 {
        self.sum.ops[self.op(operation).index()].outcomes[outcome.index()]
    }

    /// Number of ended operations, without those ended by the user.
    pub(crate) fn count(&self, operation: &str) -> u64 {
        self.sum.ops[self.op(operation).index()].count()
    }

    /// Requests that an operation has sent.
    pub(crate) fn requests(&self, operation: &str) -> u64 {
        self.sum.ops[self.op(operation).index()].requests
    }

    /// Reasons for failures of an operation.
    pub(crate) fn reasons(&self, operation: &str) -> Vec<Reason> {
        self.reasons.lock().unwrap().of(self.op(operation)).to_vec()
    }

    /// The texts of its reasons.
    pub(crate) fn whys(&self, operation: &str) -> Vec<String> {
        self.reasons(operation).into_iter().map(|reason| reason.why).collect()
    }

    /// Panics with the failures if there are any.
    pub(crate) fn all_good(&self) {
        let failed: u64 = self.sum.ops.iter().map(|op| op.failed()).sum();
        assert_eq!(failed, 0, "{}", self.told());
    }

    fn told(&self) -> String {
        let one = |o: &barograph_scenario::Operation| {
            let outcomes = Outcome::ALL.iter().filter(|x| self.outcome(o.name, **x) > 0);
            let outcomes: Vec<String> =
                outcomes.map(|x| format!("{} {}", self.outcome(o.name, *x), x.name())).collect();
            format!("{}: {}; {:?}\n", o.name, outcomes.join(", "), self.reasons(o.name))
        };
        self.scenario.operations.iter().map(one).collect()
    }
}
