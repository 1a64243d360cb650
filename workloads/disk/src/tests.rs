//! What the tests share: plans, folders, and a load that ends when enough was seen.

mod devices;
mod exports;
mod honesty;
mod loads;
mod stalls;
mod submissions;

use std::path::Path;
use std::sync::{Arc, Mutex};

use barograph_engine::Settings;
use barograph_model::{CounterId, Nanos, Outcome};
use barograph_spec::{Catalogue, Plan};
use barograph_stats::Interval;
use barograph_workload::{FailureReason, LoadError, LoadJob, Workload, WorkloadFactory as _};
use tempfile::TempDir;

use crate::access::Access;
use crate::measures::COUNTERS;
use crate::seam::{Disk, NAME};

/// A plan of the workload with this text under its name.
pub(crate) fn plan(text: &str) -> Plan {
    read(text).unwrap_or_else(|why| panic!("{why}"))
}

/// The refusals of a plan.
pub(crate) fn refusals(text: &str) -> String {
    read(text).map(|_| ()).unwrap_err().to_string()
}

fn read(text: &str) -> Result<Plan, barograph_spec::Refusals> {
    barograph_spec::read(Catalogue::of(&[&Disk]), "a plan", &format!("workload = {NAME:?}\n{text}"), &[])
}

/// Says that a test does nothing here.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn skip(why: &str) {
    println!("skipped: {why}");
}

/// A folder on a file system with direct access: memory has none. `None` where there is none.
pub(crate) fn direct_folder() -> Option<TempDir> {
    let target = std::env::current_exe().ok()?.parent()?.to_owned();
    let folder = tempfile::tempdir_in(target).ok()?;
    let probe = folder.path().join("probe");
    std::fs::write(&probe, "x").ok()?;
    let access = Access { writes: true, direct: true, durable: false };
    access.open(&probe).is_ok().then_some(folder)
}

/// Bytes of the file of a test.
const SIZE: u64 = 1 << 20;

/// A load of a file.
struct Load {
    plan: Plan,
    workload: Arc<dyn Workload>,
    users: u32,
    timeout: Nanos,
}

/// The sum of a load, and the first reasons of failures.
struct Ended {
    names: Vec<&'static str>,
    sum: Interval,
    reasons: Vec<FailureReason>,
}

impl Load {
    /// A load of a file of 1 MiB with further keys, each a line of TOML.
    fn of(path: &Path, keys: &str) -> Load {
        let size = if keys.contains("disk.size") { "" } else { "disk.size = \"1m\"" };
        let plan =
            plan(&format!("target.url = \"file://{}\"\nload.users = 8\n{size}\n{keys}", path.display()));
        let workload = Disk.of_plan(&plan).unwrap();
        Load { plan, workload, users: 8, timeout: Nanos::from_secs(30) }
    }

    fn job(&self) -> LoadJob<'_> {
        LoadJob { url: self.workload.target().unwrap(), plan: &self.plan, data: None }
    }

    /// Fills the target, and says whether it was filled before; `None` where there is nothing to fill.
    fn fill(&self) -> Option<Result<bool, LoadError>> {
        let job = self.job();
        let filling = self.workload.prepare(&job, Arc::new(|_| {}))?;
        Some(runtime().block_on(filling).map(|filled| filled.reused))
    }

    /// Fills the target and loads it until at least this number of operations have ended.
    fn run(&self, least: u64) -> Ended {
        if let Some(filled) = self.fill() {
            filled.unwrap_or_else(|why| panic!("{}", barograph_model::words::in_one_line(&why)));
        }
        self.load(least)
    }

    /// Loads the target until at least this number of operations have ended.
    fn load(&self, least: u64) -> Ended {
        self.load_at(self.workload.target().unwrap(), least)
    }

    /// The same, at the address of a target that the plan deploys.
    fn load_at(&self, url: &str, least: u64) -> Ended {
        let ops = self.workload.ops();
        let settings = Settings {
            workers: if self.workload.operations_block() { self.users as usize } else { 1 },
            seed: self.plan.seed,
            behaviours: Arc::new(self.workload.behaviours(NAME).unwrap()),
            limits: self.workload.profile(NAME).unwrap().time_limits(ops.len()),
            interval: Nanos::from_millis(50),
            timeout: self.timeout,
            pause_after_failure: Nanos::from_millis(10),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let runnable = self.workload.load(&LoadJob { url, plan: &self.plan, data: None });
        let runnable = runnable.unwrap_or_else(|why| panic!("{}", barograph_model::words::in_one_line(&why)));
        let sum = runtime().block_on(async {
            let mut engine = runnable.start(&settings).unwrap();
            engine.ramp(self.users, Nanos::ZERO).await.unwrap();
            let mut sum = engine.next().await.unwrap().unwrap();
            while sum.ops.iter().map(barograph_stats::OpStats::count).sum::<u64>() < least {
                sum.append(&engine.next().await.unwrap().unwrap());
            }
            engine.stop(self.timeout).await;
            while let Some(more) = engine.next().await.unwrap() {
                sum.append(&more);
            }
            sum
        });
        let names = ops.iter().map(|op| op.name).collect();
        Ended { names, sum, reasons: self.workload.failure_reasons() }
    }

    /// The refusals of the target.
    fn refused(&self) -> String {
        let all = self.workload.refusals(&self.plan);
        all.iter().map(|refusal| format!("{}: {}\n", refusal.key, refusal.allowed)).collect()
    }
}

impl Ended {
    fn counter(&self, counter: CounterId) -> u64 {
        self.sum.counters.get(counter)
    }

    /// Operations of a name with an outcome.
    fn outcomes(&self, name: &str, outcome: Outcome) -> u64 {
        let op = self.names.iter().position(|known| *known == name).unwrap();
        self.sum.ops[op].outcomes[outcome.index()]
    }

    fn good(&self, name: &str) -> u64 {
        self.outcomes(name, Outcome::Good)
    }

    /// Nothing failed.
    fn assert_clean(&self) {
        assert!(self.reasons.is_empty(), "{:?}", self.reasons);
        let failed: u64 = self.sum.ops.iter().map(|op| op.count() - op.outcomes[0]).sum();
        assert_eq!(failed, 0);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Progress that was told.
type Told = Arc<Mutex<Vec<(u64, u64)>>>;

#[test]
fn counters_and_measures_go_together() {
    let folder = tempfile::tempdir().unwrap();
    let load = Load::of(&folder.path().join("x"), "");
    let measures = load.workload.measures();
    barograph_model::check_measures(&COUNTERS, measures, load.workload.ops()).unwrap();
}
