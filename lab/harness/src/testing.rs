//! A workload that answers at once or after a simulated millisecond, a platform that creates nothing, and a
//! silent screen.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_engine::sim::{self, Time, TimeHold};
use barograph_engine::{OpContext, Runnable, Timer, User, UserFactory, runnable};
use barograph_model::{
    Amount, Behaviour, Behaviours, BetterWhen, ChooserId, CounterId, DerivedFigures, Distribution, Formula,
    MeasureSpec, Nanos, NextOp, OpId, OpSpec, Outcome, Pace, Phase, Profile, QosRule, Rule, Share, UserId,
};
use barograph_platform::{
    Ability, Autoscaling, BoxFuture, Facts, Fault, Ledger, LedgerError, Limits, Machines, MissingRequirement,
    OnLine, Pause, Platform, PlatformKind, Readiness, Resource, Site, SiteSpec, SweepResult, Unit, UnitExit,
    UnitHandle,
};
use barograph_record::Fill;
use barograph_spec::{Catalogue, Connections, DataPlan, Plan, Refusal, WorkloadKeys};
use barograph_workload::topology::{Part, PartWork, Topology, Value};
use barograph_workload::{
    Application, DataSet, DataSets, FailureReason, FillLine, FillProgress, Job, LoadError, LoadJob, Machine,
    OnProgress, SizeInfo, UsualSize, VerifyResult, Workload,
};

use crate::{IntervalContext, Progress, Screen};

mod filling;
mod simulated;
mod slow;

pub(crate) use filling::{FakeFill, FillCourse};
pub(crate) use simulated::{BEGAN_S, SimulatedHost};
pub(crate) use slow::ActionDurations;

const OPS: [OpSpec; 1] = [OpSpec { name: "Ask", about: "Asks something." }];

const HITS: CounterId = CounterId(0);
const LOOKUPS: CounterId = CounterId(1);

/// Share of lookups that find something.
pub(crate) const HIT_SHARE: MeasureSpec = MeasureSpec {
    id: "hit_share",
    title: "hit share",
    unit: "%",
    better: BetterWhen::Higher,
    formula: Formula::percent(Amount::Counter(HITS), Amount::Counter(LOOKUPS)),
};

/// Required share of an operation that users always do, and length of their sessions.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    /// The required share.
    pub(crate) required: Share,
    /// Mean length of a session in seconds.
    pub(crate) session_s: f64,
}

impl Default for Mix {
    fn default() -> Self {
        Mix { required: Share::percent(100.0), session_s: 1.0 }
    }
}

/// Keys of its plans: two tiers that can have limits.
pub(crate) struct TestKeys;

impl WorkloadKeys for TestKeys {
    fn name(&self) -> &'static str {
        "test"
    }
    fn tiers(&self) -> &'static [&'static str] {
        &["application", "relational"]
    }
}

/// Platforms for its plans: this machine, hosts, containers, pods and virtual machines.
const PLATFORMS: [PlatformKind; 5] = [
    PlatformKind { name: "process", abilities: &[Ability::Processes, Ability::Disks] },
    PlatformKind {
        name: "apart",
        abilities: &[Ability::Hosts, Ability::Drivers, Ability::Links, Ability::Disks],
    },
    PlatformKind { name: "boxes", abilities: &[Ability::Hosts, Ability::Containers, Ability::Disks] },
    PlatformKind { name: "pods", abilities: &[Ability::Hosts, Ability::Pods] },
    PlatformKind {
        name: "machines",
        abilities: &[Ability::Hosts, Ability::Machines, Ability::Links, Ability::Moves],
    },
];

/// Workloads and platforms for its plans.
pub(crate) const CATALOGUE: Catalogue<'static> = Catalogue { workloads: &[&TestKeys], platforms: &PLATFORMS };

/// Keys without those of a workload, and this machine with more abilities than it has.
pub(crate) const COMMON_KEYS: Catalogue<'static> = Catalogue {
    workloads: &[],
    platforms: &[
        PlatformKind {
            name: "process",
            abilities: &[Ability::Processes, Ability::Disks, Ability::Moves, Ability::Autoscaler],
        },
        PLATFORMS[1],
    ],
};

/// A workload whose data admit 60 users with four connections each, and which holds answers for 45 s. Its
/// fill reports lines: a number is progress, "filled" is the end.
#[derive(Default)]
pub(crate) struct TestWorkload {
    /// Findings of the data checks.
    pub(crate) findings: &'static [&'static str],
    /// Whether it has no application and loads an existing target.
    pub(crate) deploys_nothing: bool,
    /// Whether its application has no data sets and no checks, and answers at two addresses.
    pub(crate) bare: bool,
    /// Nodes of its application behind a web server, where it has one.
    pub(crate) behind: usize,
    /// Limit of the cores of each part of it, if any.
    pub(crate) cpus: Option<f64>,
    /// Its operations block.
    pub(crate) blocks: bool,
    /// Tables of open files of its application, if several.
    pub(crate) tables: Option<usize>,
    /// Size of the data derived from the machine, if any.
    pub(crate) usual: Option<UsualSize>,
    /// Fill of the target through its address, if any.
    pub(crate) filling: Option<FakeFill>,
    /// Rule for the mix.
    pub(crate) mix: Mix,
    /// Behaviour of a target that jams, in simulated time.
    pub(crate) jams: Option<JamRule>,
    /// Start and end of the target's silence, in simulated time.
    pub(crate) silent: Option<(Nanos, Nanos)>,
    /// Whether the target is a part of the driver's machine.
    pub(crate) is_of_driver: bool,
    /// Time the target works on each answer, one after another, in simulated time; if `None`, it answers all
    /// at once.
    pub(crate) one_by_one: Option<Nanos>,
    /// If set, every operation looks something up, and one in this many misses.
    pub(crate) misses_every: Option<u64>,
    /// Rules in addition to the default ones.
    pub(crate) rules: Vec<Rule>,
    /// Reasons for the failure of its operations.
    pub(crate) failures: Vec<FailureReason>,
    /// Ground of a simulated load; if `None`, the load is real.
    pub(crate) ground: Option<SimulatedHost>,
}

/// A target that jams when a user from `from` on makes a request, and refuses all requests until none has
/// come from a user from `kept_by` on for a while.
#[derive(Clone, Copy)]
pub(crate) struct JamRule {
    /// First user who is one too many.
    pub(crate) from: u32,
    /// First user who keeps it from recovering.
    pub(crate) kept_by: u32,
}

/// Time without requests from users who keep the target from recovering.
const RECOVERY: Nanos = Nanos::from_millis(200);

/// Response time of a target in simulated time.
const SERVICE: Nanos = Nanos::from_millis(1);

struct Target {
    jams: Option<JamRule>,
    silent: Option<(Nanos, Nanos)>,
    one_by_one: Option<Nanos>,
    misses_every: Option<u64>,
    lookups: Cell<u64>,
    /// End of its work on the requests so far.
    works_until: Cell<Nanos>,
    /// While it is jammed: the last time it was kept so.
    jammed: Cell<Option<Nanos>>,
    /// Timer of simulated time, if the load is simulated.
    timer: Option<Timer>,
}

impl Target {
    /// Works on an answer; takes no time if time is real.
    async fn work(&self) {
        let Some(timer) = &self.timer else { return };
        let now = timer.now();
        let (free, span) = match self.one_by_one {
            Some(span) => (now.max(self.works_until.get()), span),
            None => (now, SERVICE),
        };
        let begins = self.silent.filter(|(from, to)| (*from..*to).contains(&free)).map_or(free, |(_, to)| to);
        self.works_until.set(begins + span);
        timer.until(begins + span).await;
    }

    /// Looks something up and returns whether it was found.
    fn hits(&self) -> bool {
        self.lookups.set(self.lookups.get() + 1);
        self.misses_every.is_none_or(|every| !self.lookups.get().is_multiple_of(every))
    }

    /// Whether it refuses a request of a user now.
    fn refuses(&self, id: u32) -> bool {
        let (Some(jams), Some(timer)) = (self.jams, &self.timer) else { return false };
        let now = timer.now();
        let jammed = self.jammed.get().filter(|since| now - *since < RECOVERY);
        let keeps = id >= if jammed.is_some() { jams.kept_by } else { jams.from };
        self.jammed.set(if keeps { Some(now) } else { jammed });
        self.jammed.get().is_some()
    }
}

struct TestUsers(Rc<Target>);

struct TestUser {
    id: u32,
    target: Rc<Target>,
}

impl UserFactory for TestUsers {
    type User = TestUser;
    fn user(&self, id: UserId) -> TestUser {
        TestUser { id: id.0, target: Rc::clone(&self.0) }
    }
}

impl User for TestUser {
    async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        context.add(LOOKUPS, 1);
        self.target.work().await;
        context.add(HITS, u64::from(self.target.hits()));
        if self.target.refuses(self.id) { Outcome::Refused } else { Outcome::Good }
    }
    fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
        0
    }
    fn end_session(&self) {}
}

impl Workload for TestWorkload {
    fn name(&self) -> &'static str {
        "asking"
    }
    fn version(&self) -> u32 {
        1
    }
    fn ops(&self) -> &[OpSpec] {
        &OPS
    }
    fn counters(&self) -> &[&'static str] {
        &["hits", "lookups"]
    }
    fn measures(&self) -> &[MeasureSpec] {
        &[HIT_SHARE]
    }
    fn profiles(&self) -> Vec<&str> {
        vec!["official2"]
    }
    fn profile(&self, _: &str) -> Option<Profile> {
        let rule = QosRule {
            op: OpId(0),
            quantile: Share::percent(99.0),
            limit: Some(Nanos::from_secs(2)),
            judged: true,
            mix: self.mix.required,
            mix_tolerance: Share::percent(5.0),
            failures: Share::percent(1.0),
        };
        let derived =
            DerivedFigures { ops_per_user_s: 50.0, requests_per_op: 1.0, session_s: self.mix.session_s };
        let mut profile = Profile::usual("official2", &[rule], Some(derived));
        profile.rules.extend(&self.rules);
        Some(profile)
    }
    fn behaviours(&self, _: &str) -> Option<Behaviours> {
        let next = vec![Some(NextOp::Op(OpId(0)))];
        let pace = Pace::Cycle(Distribution::Constant(Nanos::from_millis(20)));
        Behaviours::new(vec![Behaviour { name: "main", first: OpId(0), next, pace }]).ok()
    }
    fn counts(&self) -> Vec<i64> {
        vec![7]
    }
    fn application(&self) -> Option<&dyn Application> {
        (!self.deploys_nothing).then_some(self)
    }
    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * 4
    }
    fn operations_block(&self) -> bool {
        self.blocks
    }
    fn longest_wait(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(45))
    }
    fn target_is_of_driver(&self) -> bool {
        self.is_of_driver
    }
    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.failures.clone()
    }
    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        self.filling.as_ref().map(|filling| filling.fill(job.url, progress))
    }
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        if job.url.contains("nowhere") {
            let why = "no address is known for it".into();
            return Err(LoadError::Unreachable { url: job.url.to_owned(), why });
        }
        let &TestWorkload { jams, silent, one_by_one, misses_every, .. } = self;
        let asking = move |timer| {
            let (works_until, jammed, lookups) = (Cell::default(), Cell::default(), Cell::default());
            TestUsers(Rc::new(Target {
                jams,
                silent,
                one_by_one,
                misses_every,
                lookups,
                works_until,
                jammed,
                timer,
            }))
        };
        Ok(match &self.ground {
            Some(ground) => sim::runnable(&ground.time, move |timer| asking(Some(timer))),
            None => runnable(move || asking(None)),
        })
    }
}

impl DataSets for TestWorkload {
    fn sizes(&self) -> Vec<SizeInfo> {
        vec![SizeInfo { name: "small", max_users: 60 }]
    }
    fn usual_size(&self, _: &Plan, _: &Machine) -> Option<UsualSize> {
        self.usual.clone()
    }
    fn data(&self, _: &DataPlan, _: u64) -> Result<DataSet, Refusal> {
        let (size, stamp) = ("small".to_owned(), "0".to_owned());
        Ok(DataSet { size, max_users: 60, factors: vec![], stamp, bytes: 0 })
    }
    fn is_filled(&self, _: &Path) -> bool {
        true
    }
    fn fill_unit(&self, _: &DataSet, _: &Path, job: &Job<'_>) -> Unit {
        unit("fill", job)
    }
    fn fill_line(&self, line: &str) -> Option<FillLine> {
        if let Ok(done) = line.parse() {
            let stage = "rows".to_owned();
            return Some(FillLine::Progress(FillProgress { stage, done, total: 1_000_000 }));
        }
        (line == "filled").then(|| FillLine::Filled(Box::new(filled())))
    }
    fn describing_files(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }
}

impl Application for TestWorkload {
    fn data_sets(&self) -> Option<&dyn DataSets> {
        (!self.bare).then_some(self)
    }
    fn topology(&self, _: &Plan, _: Option<&DataSet>) -> Topology {
        let part = |name: &str, uses: &[&str]| Part {
            name: name.to_owned(),
            tier: "application",
            node: uses.is_empty(),
            host: name.to_owned(),
            work: PartWork::Service(barograph_services::find("driver").expect("it is a service")),
            needs: vec![],
            uses: uses.iter().map(|name| (*name).to_owned()).collect(),
            values: vec![("token_file", Value::Text("/nonexistent".to_owned()))],
            limits: Limits { cpus: self.cpus, ..Limits::default() },
        };
        let nodes = &["application-1", "application-2", "application-3"][..];
        if self.behind > 0 {
            let nodes = &nodes[..self.behind];
            let web = part("web-1", nodes);
            let parts = [web].into_iter().chain(nodes.iter().map(|name| part(name, &[]))).collect();
            return Topology { parts, fronts: vec!["web-1".to_owned()], ..Topology::empty() };
        }
        let names = &nodes[..1 + usize::from(self.bare)];
        let fronts = names.iter().map(|name| (*name).to_owned()).collect();
        let parts = names.iter().map(|name| part(name, &[])).collect();
        Topology { parts, fronts, ..Topology::empty() }
    }
    fn tables(&self, _: &Plan) -> usize {
        self.tables.unwrap_or(1)
    }
    fn answers<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    fn verify<'a>(&'a self, _: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        if self.bare {
            return None;
        }
        let findings: Vec<String> = self.findings.iter().map(|f| (*f).to_owned()).collect();
        Some(Box::pin(async move { Ok(VerifyResult { ok: findings.is_empty(), findings }) }))
    }
}

fn filled() -> Fill {
    Fill {
        size: "small".to_owned(),
        max_users: 60,
        rows: vec![],
        bytes: vec![],
        factors: vec![],
        seconds: 0.0,
        reused: true,
        stamp: "0".to_owned(),
    }
}

fn unit(name: &str, job: &Job<'_>) -> Unit {
    let ready = Readiness::Exit { timeout: Duration::from_secs(1) };
    Unit { log: job.log.clone(), ..Unit::new(name, PathBuf::from("/nonexistent"), ready) }
}

/// A platform whose units exist without being created.
pub(crate) struct FakePlatform {
    /// Address of its units.
    pub(crate) address: Option<SocketAddr>,
    /// Reason why folders cannot be removed.
    pub(crate) stuck: Option<&'static str>,
    /// Exit status of its units, if they end by themselves.
    pub(crate) ends: Option<UnitExit>,
    /// Durations of its actions, if they take time.
    pub(crate) slow: Option<ActionDurations>,
}

impl Platform for FakePlatform {
    fn kind(&self) -> PlatformKind {
        PLATFORMS[0]
    }
    fn preflight<'a>(&'a self, _: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(async { Ok(vec![]) })
    }
    fn open<'a>(&'a self, _: &'a SiteSpec, _: &'a Ledger) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        let site: Box<dyn Site> =
            Box::new(FakeSite { address: self.address, ends: self.ends.clone(), slow: self.slow.clone() });
        Box::pin(async { Ok(site) })
    }
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(async move {
            let mut swept = SweepResult::default();
            for left in ledger.left() {
                if let Resource::Setting { path, before } = &left.thing {
                    std::fs::write(path, before).expect("the setting is there");
                    ledger.removed(left.entry)?;
                    continue;
                }
                assert!(matches!(left.thing, Resource::Directory { .. }), "this platform makes no processes");
                match self.stuck {
                    Some(why) => swept.failed.push((left.thing, why.to_owned())),
                    None => {
                        ledger.remove_directory(left.entry)?;
                        swept.removed.push(left.thing);
                    }
                }
            }
            Ok(swept)
        })
    }
}

struct FakeSite {
    address: Option<SocketAddr>,
    ends: Option<UnitExit>,
    slow: Option<ActionDurations>,
}

impl Site for FakeSite {
    fn address(&self, _: &str) -> Option<IpAddr> {
        self.address.map(|address| address.ip())
    }
    fn port(&self, _: &str, wanted: u16) -> Result<u16, Fault> {
        Ok(self.address.map_or(wanted, |address| address.port()))
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
            let (address, ends, slow) = (self.address, self.ends.clone(), self.slow.clone());
            if let Some(slow) = &slow {
                slow.start().await;
            }
            let there: Box<dyn UnitHandle> =
                Box::new(FakeUnit { address, ends, slow, ..FakeUnit::default() });
            Ok(there)
        })
    }
    fn machines(&self) -> Option<&dyn Machines> {
        self.slow.as_ref().map(|slow| slow as &dyn Machines)
    }
    fn autoscaling(&self) -> Option<&dyn Autoscaling> {
        self.slow.as_ref().map(|slow| slow as &dyn Autoscaling)
    }
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
}

/// A unit without a process of its own.
#[derive(Default)]
pub(crate) struct FakeUnit {
    pub(crate) address: Option<SocketAddr>,
    /// Control over holding it, if it can be held.
    pub(crate) pausing: Option<Box<dyn Pause>>,
    /// Exit status, if it ends by itself.
    pub(crate) ends: Option<UnitExit>,
    /// Time it takes to stop, if any.
    pub(crate) slow: Option<ActionDurations>,
    /// Whether it was stopped.
    pub(crate) stopped: AtomicBool,
}

impl UnitHandle for FakeUnit {
    fn name(&self) -> &str {
        "serve"
    }
    fn pid(&self) -> Option<u32> {
        None
    }
    fn address(&self) -> Option<SocketAddr> {
        self.address
    }
    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        let stopped = self.stopped.load(Ordering::SeqCst).then_some(UnitExit::Code(0));
        match stopped.or(self.ends.clone()) {
            Some(ended) => Box::pin(std::future::ready(ended)),
            None => Box::pin(std::future::pending()),
        }
    }
    fn stop(&self, _: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(async {
            if let Some(slow) = &self.slow {
                slow.stop().await;
            }
            self.stopped.store(true, Ordering::SeqCst);
            Ok(UnitExit::Code(0))
        })
    }
    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(async { Ok(UnitExit::Code(0)) })
    }
    fn pausing(&self) -> Option<&dyn Pause> {
        self.pausing.as_deref()
    }
}

/// The end of an interval. Time stands still until it is dropped.
pub(crate) struct IntervalEnd {
    /// Figures shown for it.
    pub(crate) live: IntervalContext,
    _still: TimeHold,
}

/// Shows nothing, keeps the progress, and sends the end of every interval.
#[derive(Default)]
pub(crate) struct SilentScreen {
    pub(crate) progress: Vec<Progress>,
    pub(crate) reached: Option<(std::sync::mpsc::SyncSender<IntervalEnd>, Time)>,
}

impl Screen for SilentScreen {
    fn phase(&mut self, _: Phase, _: &str) {}
    fn progress(&mut self, progress: &Progress) {
        self.progress.push(progress.clone());
    }
    fn say(&mut self, _: &str) {}
    fn interval(&mut self, _: &barograph_stats::Interval, live: &IntervalContext) {
        if let Some((reached, time)) = &self.reached {
            // Moments need not be received.
            let _ = reached.try_send(IntervalEnd { live: *live, _still: time.hold() });
        }
    }
}
