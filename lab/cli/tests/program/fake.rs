//! The auction's users against a target in this process that misbehaves as scripted.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use barograph_engine::{Runnable, runnable};
use barograph_harness::{Machine, Progress, RunContext, RunResult, Screen, Stop};
use barograph_http::{Target, Tls};
use barograph_model::{Behaviours, OpSpec, Phase, Profile};
use barograph_platform::{
    BoxFuture, Facts, Fault, Ledger, LedgerError, Limits, MissingRequirement, OnLine, Platform, PlatformKind,
    Readiness, Site, SiteSpec, SweepResult, Unit, UnitExit, UnitHandle,
};
use barograph_record::{Fill, RunId};
use barograph_services::Flavour;
use barograph_spec::{Connections, DataPlan, Plan, Refusal};
use barograph_testkit::{Script, Server};
use barograph_workload::topology::{Part, PartWork, Topology, Value};
use barograph_workload::{
    Application, DataSet, DataSets, FillLine, Job, LoadError, LoadJob, SizeInfo, VerifyResult, Workload,
};
use barograph_workload_auction::{Auction, ConnectionReuse, Http, ops, profile};
use tokio::sync::watch;

/// Sender that reports the end of the target's process.
pub(crate) type ExitSender = watch::Sender<bool>;

pub(crate) struct FakeWorkload;

fn unit(name: &str, job: &Job<'_>) -> Unit {
    let ready = Readiness::Exit { timeout: Duration::from_secs(1) };
    Unit { log: job.log.clone(), ..Unit::new(name, PathBuf::from("/nonexistent"), ready) }
}

impl Workload for FakeWorkload {
    fn name(&self) -> &'static str {
        "auction"
    }
    fn version(&self) -> u32 {
        barograph_workload_auction::VERSION
    }
    fn ops(&self) -> &[OpSpec] {
        &ops::ALL
    }
    fn session_op(&self) -> Option<&str> {
        Some("Login")
    }
    fn profiles(&self) -> Vec<&str> {
        vec!["official2"]
    }
    fn profile(&self, name: &str) -> Option<Profile> {
        profile::profile(name)
    }
    fn behaviours(&self, name: &str) -> Option<Behaviours> {
        profile::profile(name).map(|_| profile::behaviours())
    }
    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }
    fn connections(&self, users: u32, _: Connections) -> u64 {
        4 * u64::from(users)
    }
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let max_users = job.data.unwrap().max_users;
        let target = Target::parse(job.url, &Http::options(Tls::default())).unwrap().resolve().unwrap();
        Ok(runnable(move || Auction::new(Http::new(&target, ConnectionReuse::BetweenOperations), max_users)))
    }
}

impl DataSets for FakeWorkload {
    fn sizes(&self) -> Vec<SizeInfo> {
        vec![SizeInfo { name: "none", max_users: 60 }]
    }
    fn data(&self, _: &DataPlan, _: u64) -> Result<DataSet, Refusal> {
        Ok(DataSet {
            size: "none".to_owned(),
            max_users: 60,
            factors: vec![],
            stamp: "0".to_owned(),
            bytes: 0,
        })
    }
    fn is_filled(&self, _: &Path) -> bool {
        true
    }
    fn fill_unit(&self, _: &DataSet, _: &Path, job: &Job<'_>) -> Unit {
        unit("fill", job)
    }
    fn fill_line(&self, line: &str) -> Option<FillLine> {
        let fill = Fill {
            size: "none".to_owned(),
            max_users: 60,
            rows: vec![],
            bytes: vec![],
            factors: vec![],
            seconds: 0.0,
            reused: true,
            stamp: "0".to_owned(),
        };
        (line == "filled").then(|| FillLine::Filled(Box::new(fill)))
    }
    fn describing_files(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }
}

impl Application for FakeWorkload {
    fn data_sets(&self) -> Option<&dyn DataSets> {
        Some(self)
    }
    fn topology(&self, _: &Plan, _: Option<&DataSet>) -> Topology {
        let part = Part {
            name: "application-1".to_owned(),
            tier: "application",
            node: true,
            host: "app-1".to_owned(),
            work: PartWork::Service(barograph_services::find("auction").unwrap()),
            needs: vec![],
            uses: vec![],
            values: vec![("data", Value::Text("/nonexistent".to_owned()))],
            limits: Limits::default(),
        };
        Topology {
            fronts: vec![part.name.clone()],
            floating: None,
            parts: vec![part],
            scheme: "http",
            shared: vec![],
            files: vec![],
            flavour: Flavour::Tuned,
            stored: None,
        }
    }
    fn answers<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    fn verify<'a>(&'a self, _: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        Some(Box::pin(async { Ok(VerifyResult { ok: true, findings: vec![] }) }))
    }
}

/// A platform on which the target runs already.
struct FakePlatform {
    target: SocketAddr,
    gone: watch::Receiver<bool>,
}

struct FakeUnit {
    target: SocketAddr,
    gone: watch::Receiver<bool>,
}

impl Platform for FakePlatform {
    fn kind(&self) -> PlatformKind {
        PlatformKind { name: "process", abilities: &[] }
    }
    fn preflight<'a>(&'a self, _: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(async { Ok(vec![]) })
    }
    fn open<'a>(&'a self, _: &'a SiteSpec, _: &'a Ledger) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        let site: Box<dyn Site> = Box::new(FakePlatform { target: self.target, gone: self.gone.clone() });
        Box::pin(async { Ok(site) })
    }
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(async {
            let mut swept = SweepResult::default();
            for left in ledger.left() {
                ledger.remove_directory(left.entry)?;
                swept.removed.push(left.thing);
            }
            Ok(swept)
        })
    }
}

impl Site for FakePlatform {
    fn address(&self, _: &str) -> Option<IpAddr> {
        Some(self.target.ip())
    }
    fn port(&self, _: &str, _: u16) -> Result<u16, Fault> {
        Ok(self.target.port())
    }
    fn preflight<'a>(&'a self, _: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        Box::pin(async { Ok(vec![]) })
    }
    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        Box::pin(async move {
            if unit.name == "fill" {
                on_line("filled");
            }
            let there: Box<dyn UnitHandle> =
                Box::new(FakeUnit { target: self.target, gone: self.gone.clone() });
            Ok(there)
        })
    }
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
}

impl UnitHandle for FakeUnit {
    fn name(&self) -> &str {
        "the target"
    }
    fn pid(&self) -> Option<u32> {
        Some(std::process::id())
    }
    fn address(&self) -> Option<SocketAddr> {
        Some(self.target)
    }
    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        let mut gone = self.gone.clone();
        Box::pin(async move {
            // The sender lives as long as the run.
            gone.wait_for(|gone| *gone).await.unwrap();
            UnitExit::Code(101)
        })
    }
    fn stop(&self, _: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(async { Ok(UnitExit::Code(0)) })
    }
    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(async { Ok(UnitExit::Code(0)) })
    }
}

struct SilentScreen;

impl Screen for SilentScreen {
    fn phase(&mut self, _: Phase, _: &str) {}
    fn progress(&mut self, _: &Progress) {}
    fn say(&mut self, _: &str) {}
}

/// Runs a fixed load with these keys on a scripted target. The script gets the means to end the target's
/// process.
pub(crate) fn run(root: &Path, sets: &[&str], script: impl FnOnce(ExitSender) -> Script) -> RunResult {
    let (gone, is_gone) = watch::channel(false);
    let server = Server::start(script(gone.clone())).unwrap();
    let platform = FakePlatform { target: server.addr(), gone: is_gone };
    let mut sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    sets.push(format!("runs={}", root.join("runs").display()));
    sets.push("load.strategy=fixed".to_owned());
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "test", "", &sets).unwrap();
    let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
    let loads = barograph_harness::check_all(&plan, vec![Arc::new(FakeWorkload)], machine).unwrap();
    // The sender is kept, so that no stop is requested.
    let (_keep, stop) = Stop::new();
    let now = jiff::Timestamp::now();
    let platforms: [&dyn Platform; 1] = [&platform];
    let world = RunContext {
        platforms: &platforms,
        stop,
        id: RunId::new(now, 1),
        started_at: now.to_string(),
        tool: "test".to_owned(),
        command: "test".to_owned(),
        disclosure: serde_json::json!({}),
        followers: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let finished = runtime.block_on(barograph_harness::run(loads, &world, &mut SilentScreen)).unwrap();
    drop(gone);
    finished
}
