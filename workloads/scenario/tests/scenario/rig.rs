//! What the tests share: a server that notes what it was asked, and a run that ends when enough was seen.

use std::path::Path;
use std::sync::{Arc, Mutex};

use barograph_engine::{EngineHandle, Settings};
use barograph_http::{Options as Reach, Policy, Resolved, Target};
use barograph_model::{Nanos, OpId, Outcome};
use barograph_scenario::Scenario;
use barograph_stats::Interval;
use barograph_testkit::{Act, Answer, Request, Server};
use barograph_workload_scenario::{Options, Reason, Reasons, runnable};

/// Intervals of a tenth of a second that a run may take: one that needs more hangs.
const MOST_INTERVALS: usize = 600;

/// 2026-01-31T23:59:59.123Z
pub(crate) fn clock() -> Nanos {
    Nanos(1_769_903_999_123_000_000)
}

/// Reads a scenario; files it names are looked for beside the examples.
pub(crate) fn scenario(text: &str) -> Arc<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let read = barograph_scenario::read("test", text, &|path: &Path| std::fs::read(folder.join(path)));
    Arc::new(read.unwrap_or_else(|refused| panic!("{refused}")))
}

/// A server that answers as it is told, and what it was asked.
pub(crate) struct Noting {
    pub(crate) server: Server,
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
}

/// Starts such a server.
pub(crate) fn answering(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Noting {
    let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let script = move |request: &Request| {
        noted.lock().unwrap().push(request.clone());
        Act::Answer(answer(request))
    };
    Noting { server: Server::start(Arc::new(script)).unwrap(), asked }
}

impl Noting {
    pub(crate) fn run(&self, text: &str) -> Run {
        let scenario = scenario(text);
        Run::new(scenario, Resolved::at(self.server.addr(), Policy::PerUser(6)))
    }

    /// Methods and paths of all requests, in the order they came.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|r| format!("{} {}", r.method, r.path)).collect()
    }
}

/// A run to be.
pub(crate) struct Run {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) target: Resolved,
    pub(crate) users: u32,
    pub(crate) workers: usize,
    pub(crate) timeout: Nanos,
}

/// What came of a run.
pub(crate) struct Ended {
    scenario: Arc<Scenario>,
    sum: Interval,
    reasons: Arc<Mutex<Reasons>>,
}

impl Run {
    pub(crate) fn new(scenario: Arc<Scenario>, target: Resolved) -> Self {
        // Ends what hangs; a machine may take the processor away for seconds.
        Run { scenario, target, users: 1, workers: 1, timeout: Nanos::from_secs(30) }
    }

    /// A run against a whole address.
    pub(crate) fn at(text: &str, url: &str) -> Self {
        let target = Target::parse(url, &Reach::default()).unwrap().resolve().unwrap();
        Run::new(scenario(text), target)
    }

    /// Runs until `enough`.
    pub(crate) fn until(self, enough: impl Fn(&Ended) -> bool) -> Ended {
        let settings = Settings {
            workers: self.workers,
            seed: 11,
            behaviours: Arc::new(self.scenario.behaviours.clone()),
            limits: self.scenario.limits(),
            interval: Nanos::from_millis(100),
            timeout: self.timeout,
            pause_after_failure: Nanos::from_secs(1),
            open: None,
        };
        let reasons = Reasons::shared();
        let options = Options { clock, reasons: Arc::clone(&reasons) };
        let workload = runnable(Arc::clone(&self.scenario), self.target, options).unwrap();
        let handle = workload.start(&settings).unwrap();
        let sum = Interval::new(self.scenario.operations.len());
        let mut ended = Ended { scenario: self.scenario, sum, reasons };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(ended.follow(handle, self.users, enough));
        ended
    }

    /// Runs until the operation of this name has ended so often.
    pub(crate) fn until_done(self, operation: &str, count: u64) -> Ended {
        self.until(|ended| ended.count(operation) >= count)
    }
}

impl Ended {
    async fn follow(&mut self, mut handle: EngineHandle, users: u32, enough: impl Fn(&Ended) -> bool) {
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

    /// How often an operation ended so.
    pub(crate) fn outcome(&self, operation: &str, outcome: Outcome) -> u64 {
        self.sum.ops[self.op(operation).index()].outcomes[outcome.index()]
    }

    /// How often an operation ended, the user's own endings left out.
    pub(crate) fn count(&self, operation: &str) -> u64 {
        self.sum.ops[self.op(operation).index()].count()
    }

    /// Requests that an operation has sent.
    pub(crate) fn requests(&self, operation: &str) -> u64 {
        self.sum.ops[self.op(operation).index()].requests
    }

    /// Why an operation failed.
    pub(crate) fn reasons(&self, operation: &str) -> Vec<Reason> {
        self.reasons.lock().unwrap().of(self.op(operation)).to_vec()
    }

    /// The words of its reasons.
    pub(crate) fn whys(&self, operation: &str) -> Vec<String> {
        self.reasons(operation).into_iter().map(|reason| reason.why).collect()
    }

    /// Nothing failed, or this panics with what did.
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
