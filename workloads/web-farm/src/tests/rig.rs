//! Common parts of the tests: servers on a thread, and a run that ends on a condition.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{Nanos, Outcome, TimeLimits};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_workload::{LoadError, LoadJob, Workload, WorkloadFactory as _};

use crate::seam::WebFarm;
use crate::server::StaticServer;

/// Most intervals of a tenth of a second in a run: one that needs more hangs.
const MOST_INTERVALS: usize = 1_200;

/// The URL of servers 1 to `servers` with the sets in a folder, which end with the test's process.
pub(super) fn served(folder: &Path, servers: u32) -> String {
    let (send, addresses) = sync_channel(1);
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let mut all = Vec::new();
            for server in 1..=servers {
                let own = folder.join(server.to_string());
                let server = StaticServer::bind(([127, 0, 0, 1], 0).into(), &own, 100).await.unwrap();
                all.push(server.address().unwrap().to_string());
                tokio::task::spawn_local(server.serve());
            }
            send.send(all.join(",")).unwrap();
            std::future::pending::<()>().await;
        });
    });
    format!("http://{}", addresses.recv().unwrap())
}

/// A plan with these lines.
pub(super) fn plan(lines: &str, sets: &[&str]) -> Result<Plan, String> {
    let text = format!("workload = \"web-farm\"\n{lines}");
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let catalogue = barograph_spec::Catalogue::of(&[&WebFarm]);
    barograph_spec::read(catalogue, "a plan", &text, &sets).map_err(|why| why.to_string())
}

/// A plan with its workload and its servers.
pub(super) struct Load {
    plan: Plan,
    pub(super) workload: Arc<dyn Workload>,
    url: String,
}

impl Load {
    /// A fixed load with these keys.
    pub(super) fn at(url: &str, sets: &[&str]) -> Self {
        let lines = "[load]\nstrategy = \"fixed\"\nusers = 4\n";
        let plan = plan(lines, &[&[&*format!("target.url={url:?}")], sets].concat()).unwrap();
        let workload = WebFarm.of_plan(&plan).unwrap();
        Load { plan, workload, url: url.to_owned() }
    }

    /// Prepares the load.
    pub(super) fn prepared(&self) -> Result<(), LoadError> {
        self.workload.load(&LoadJob { url: &self.url, plan: &self.plan, data: None }).map(|_| ())
    }

    /// Asks whether all servers answer.
    pub(super) fn answers(&self) -> Result<(), String> {
        runtime().block_on(self.workload.application().unwrap().answers(&self.url))
    }

    /// Runs with a client of each server until `enough` holds.
    pub(super) fn until(&self, users: u32, enough: impl Fn(&Interval) -> bool) -> Interval {
        self.until_within((users, Nanos::from_secs(30)), enough)
    }

    /// The same with a time limit of a fetch.
    pub(super) fn until_within(
        &self,
        (users, timeout): (u32, Nanos),
        enough: impl Fn(&Interval) -> bool,
    ) -> Interval {
        let settings = Settings {
            workers: 2,
            seed: 11,
            behaviours: Arc::new(self.workload.behaviours("medium").unwrap()),
            limits: vec![TimeLimits::default()],
            interval: Nanos::from_millis(100),
            timeout,
            pause_after_failure: Nanos::from_secs(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let job = LoadJob { url: &self.url, plan: &self.plan, data: None };
        let handle = self.workload.load(&job).unwrap().start(&settings).unwrap();
        let mut sum = Interval::new(1);
        runtime().block_on(follow(handle, users, &mut sum, enough));
        sum
    }

    /// The reasons of failures.
    pub(super) fn reasons(&self) -> String {
        self.workload.failure_reasons().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// Fetches that ended well, and those that failed.
pub(super) fn ended(sum: &Interval) -> (u64, u64) {
    (sum.ops[0].outcomes[Outcome::Good.index()], sum.ops[0].failed())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn follow(
    mut handle: EngineHandle,
    users: u32,
    sum: &mut Interval,
    enough: impl Fn(&Interval) -> bool,
) {
    handle.ramp(users, Nanos::ZERO).await.unwrap();
    for n in 0.. {
        assert!(n < MOST_INTERVALS, "this takes too long");
        sum.append(&handle.next().await.unwrap().expect("it was not stopped"));
        if enough(sum) {
            break;
        }
    }
    handle.stop(Nanos::from_secs(5)).await;
    while let Some(next) = handle.next().await.unwrap() {
        sum.append(&next);
    }
}
