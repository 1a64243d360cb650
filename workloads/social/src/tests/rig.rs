//! A site on a thread of this process, and loads of it.

use std::path::Path;
use std::sync::Arc;

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{CounterId, Nanos, Outcome, TimeLimits};
use barograph_social::{Site, SiteOptions, serve};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_workload::{LoadJob, VerifyResult, Workload, WorkloadFactory as _};

use crate::Social;
use crate::operation::Operation;

/// Intervals after which a load hangs.
const MOST_INTERVALS: u32 = 600;

/// Starts a site on a folder. Returns its address.
pub(super) fn site(folder: &Path) -> String {
    let options = SiteOptions::embedded(folder.to_owned(), 2);
    let (send, address) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            send.send(listener.local_addr().unwrap()).unwrap();
            serve(listener, Site::open(&options).unwrap(), std::future::pending()).await.unwrap();
        });
    });
    format!("http://{}", address.recv().unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A plan with its workload and its site.
pub(super) struct Load {
    plan: Plan,
    workload: Arc<dyn Workload>,
    url: String,
}

/// Result of a run.
pub(super) struct RunResult {
    sum: Interval,
    reasons: String,
}

impl Load {
    /// Data for four users, who hurry.
    pub(super) fn at(url: &str, seed: u64) -> Self {
        let text = format!(
            "workload = \"social\"\nseed = {seed}\n[load]\nstrategy = \"fixed\"\nusers = 4\n\
             [social]\nusers = 4\nfile_scale = 0.02\ncycle_s = 0.02\n"
        );
        let plan = barograph_spec::read(barograph_spec::Catalogue::of(&[&Social]), "a plan", &text, &[]);
        let plan = plan.unwrap_or_else(|why| panic!("{why}"));
        let workload = Social.of_plan(&plan).unwrap();
        Load { plan, workload, url: url.to_owned() }
    }

    fn job(&self) -> LoadJob<'_> {
        LoadJob { url: &self.url, plan: &self.plan, data: None }
    }

    /// Fills the site; returns the number of rows of a table.
    pub(super) fn fill(&self, table: &str) -> Result<u64, String> {
        let job = self.job();
        let filling = self.workload.prepare(&job, Arc::new(|_| {})).unwrap();
        let filled = runtime().block_on(filling).map_err(|why| format!("{why:?}"))?;
        Ok(filled.rows.iter().find(|row| row.name == table).unwrap().count)
    }

    /// Looks for everything added.
    pub(super) fn verify(&self) -> VerifyResult {
        let checks = self.workload.application().unwrap().verify(&self.url).unwrap();
        runtime().block_on(checks).unwrap()
    }

    /// Whether the site answers.
    pub(super) fn answers(&self) -> Result<(), String> {
        runtime().block_on(self.workload.application().unwrap().answers(&self.url))
    }

    /// Runs until `enough` holds.
    pub(super) fn until(&self, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        let settings = Settings {
            workers: 2,
            seed: 11,
            behaviours: Arc::new(self.workload.behaviours("classic").unwrap()),
            limits: vec![TimeLimits::default(); Operation::ALL.len()],
            interval: Nanos::from_millis(100),
            timeout: Nanos::from_secs(30),
            pause_after_failure: Nanos::from_secs(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let handle = self.workload.load(&self.job()).unwrap().start(&settings).unwrap();
        let mut ended = RunResult { sum: Interval::new(Operation::ALL.len()), reasons: String::new() };
        runtime().block_on(ended.follow(handle, enough));
        ended.reasons = format!("{:?}", self.workload.failure_reasons());
        ended
    }
}

impl RunResult {
    async fn follow(&mut self, mut handle: EngineHandle, enough: impl Fn(&RunResult) -> bool) {
        handle.ramp(4_u32, Nanos::ZERO).await.unwrap();
        for n in 0.. {
            assert!(n < MOST_INTERVALS, "this takes too long");
            self.sum.append(&handle.next().await.unwrap().expect("it was not stopped"));
            if enough(self) {
                break;
            }
        }
        handle.stop(Nanos::from_secs(5)).await;
        while let Some(next) = handle.next().await.unwrap() {
            self.sum.append(&next);
        }
    }

    /// Operations that ended well.
    pub(super) fn good(&self, operation: Operation) -> u64 {
        self.sum.ops[operation.op().index()].outcomes[Outcome::Good.index()]
    }

    /// The value of a counter.
    pub(super) fn counter(&self, counter: CounterId) -> u64 {
        self.sum.counters.get(counter)
    }

    /// Asserts that every operation was done, and none failed.
    pub(super) fn all_good(&self) {
        for (operation, op) in Operation::ALL.into_iter().zip(&self.sum.ops) {
            let good = self.good(operation);
            let failed = op.failed();
            assert!(good > 0 && failed == 0, "{operation:?}: {good} good, {failed} failed: {}", self.reasons);
        }
    }
}
