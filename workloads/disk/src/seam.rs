//! The workload behind the seam.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use barograph_engine::{Runnable, runnable_groups, runnable_threads};
use barograph_model::words::in_one_line;
use barograph_model::{
    Behaviour, Behaviours, ChooserId, Distribution, MeasureSpec, Nanos, NextOp, OpId, OpSpec, Pace, Profile,
    QosRule, Share, Vector,
};
use barograph_platform::BoxFuture;
use barograph_record::{Count, Fill as Filled};
use barograph_ring::{Buffers, Ring};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::{
    Application, FailureReason, LoadCommand, LoadError, LoadJob, OnProgress, Reasons, Workload,
    WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::access::Opening;
use crate::contents::Contents;
use crate::device;
use crate::error::DiskError;
use crate::export::{Exports, FitExport};
use crate::fill::{COUNTED, Fill, Guard};
use crate::generations::Generations;
use crate::group::Rings;
use crate::measures::{COUNTERS, MEASURES};
use crate::operation::OpKind;
use crate::places::Places;
use crate::plan::{DiskPlan, Engine, IN_FOLDER, Place, Server, Sync, address};
use crate::program::{Program, salt};
use crate::target::Target;
use crate::threads::Threads;
use crate::topology::ExportServer;

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "disk";

/// Raised with every change that can move results.
const VERSION: u32 = 2;

/// Most users of one ring.
const MOST_OF_RING: u64 = 1_024;

/// Most bytes of the buffers of one ring. They are locked in memory when the ring is made; further users have further rings.
const BYTES_OF_RING: u64 = 64 << 20;

/// Makes the workload of plans.
pub struct Disk;

impl WorkloadFactory for Disk {
    fn about(&self) -> &'static str {
        "reads and writes of a file or a device, through io_uring or in threads"
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(DiskWorkload::new(plan)))
    }
}

/// The workload of a plan.
struct DiskWorkload {
    plan: DiskPlan,
    ops: Vec<OpSpec>,
    place: Place,
    /// Address of the target; `None` where the plan deploys it.
    url: Option<String>,
    server: Option<ExportServer>,
    reasons: Arc<Mutex<Reasons>>,
    /// From the fill on.
    filled: Arc<Mutex<Option<FilledTarget>>>,
}

/// A target that was filled.
struct FilledTarget {
    _guard: Guard,
    generations: Option<Arc<Generations>>,
}

impl FilledTarget {
    /// Fills a target and keeps it; whether it was filled before.
    fn fill(fill: &Fill<'_>, kept: &Mutex<Option<FilledTarget>>) -> Result<bool, DiskError> {
        let (guard, reused) = fill.take()?;
        let blocks = (fill.plan.size / fill.plan.largest()) as usize;
        let generations = fill.plan.verify.then(|| Arc::new(Generations::filled(blocks)));
        let target = FilledTarget { _guard: guard, generations };
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
        Ok(reused)
    }
}

/// Stops the fill when it is dropped.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl DiskWorkload {
    fn new(plan: &Plan) -> Self {
        let place = Place::of(plan);
        let plan = DiskPlan::of(plan).clone();
        DiskWorkload {
            ops: plan.kinds().into_iter().map(OpKind::spec).collect(),
            url: match &place {
                Place::Path(path) => Some(address(path)),
                Place::Unit => Some(IN_FOLDER.to_owned()),
                Place::Export(url) => Some(url.clone()),
                Place::Deployed => None,
            },
            server: ExportServer::of(&plan).filter(|_| place == Place::Deployed),
            place,
            plan,
            reasons: Reasons::shared(),
            filled: Arc::default(),
        }
    }

    /// An error as a refusal of the key that is at fault, where one is.
    fn refusal(&self, plan: &Plan, why: &DiskError) -> Option<Refusal> {
        let (key, remedy) = why.blame()?;
        let value = match key {
            "target.url" => format!("{:?}", self.shown()),
            "disk.direct" => self.plan.direct.to_string(),
            "disk.block" => format!("{:?}", crate::size::shown(self.plan.largest())),
            _ => "\"io_uring\"".to_owned(),
        };
        let allowed = format!("what is possible: cannot {}", in_one_line(why));
        let place = plan.place(key).to_owned();
        Some(Refusal { place, key: key.to_owned(), value, allowed, remedy: remedy.to_owned() })
    }

    fn load_error(&self, plan: &Plan, why: DiskError) -> LoadError {
        match self.refusal(plan, &why) {
            Some(refusal) => LoadError::Refused(Refusals(vec![refusal])),
            None => match why {
                DiskError::Server { url, why } => LoadError::Unreachable { url, why: why.into() },
                why => LoadError::Fill { url: self.shown(), why: why.into() },
            },
        }
    }

    /// The address of the target, where it is known before the load.
    fn shown(&self) -> String {
        self.url.clone().unwrap_or_default()
    }

    /// The file or device, where the target is one.
    fn path(&self) -> Option<&Path> {
        if let Place::Path(path) = &self.place { Some(path) } else { None }
    }

    /// The load of the file of a driver that is a unit. The driver fills it, as no other process has its folder.
    fn load_unit(&self, path: &Path, (users, seed): (usize, u64)) -> Result<Box<dyn Runnable>, DiskError> {
        let (stopped, progress): (_, OnProgress) = (AtomicBool::new(false), Arc::new(|_| {}));
        let fill = Fill { path, plan: &self.plan, seed, stopped: &stopped, progress: &progress };
        FilledTarget::fill(&fill, &self.filled)?;
        self.load_path(path, (users, seed))
    }

    /// The load of a file or device made ready: it opens as the plan says, and the kernel takes the rings.
    fn load_path(&self, path: &Path, (users, seed): (usize, u64)) -> Result<Box<dyn Runnable>, DiskError> {
        let plan = &self.plan;
        let filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        let (span, generations) = match &*filled {
            Some(filled) => (plan.size, filled.generations.clone()),
            None => (Target::of(path, plan)?.span(plan), None),
        };
        let opening = Opening { path: path.to_owned(), access: plan.access() };
        let opened = opening.open()?;
        plan.check_alignment(path, opened.alignment)?;
        if plan.engine == Engine::IoUring {
            Ring::is_possible(opened.file.into(), Buffers::new(users, plan.largest() as usize)?)?;
        }
        let program = self.program(span, generations, seed);
        Ok(match plan.engine {
            Engine::IoUring => runnable_groups(move || {
                let (program, opening) = (Arc::clone(&program), opening.clone());
                Rings { program, opening, users }
            }),
            Engine::Threads => runnable_threads(move || Threads(Arc::clone(&program), opening.clone())),
        })
    }

    /// The load of an export made ready: its server describes it.
    fn load_export(&self, url: &str, (users, seed): (usize, u64)) -> Result<Box<dyn Runnable>, DiskError> {
        let export = FitExport::ask(url, &self.plan)?;
        let program = self.program(export.span, None, seed);
        Ok(runnable_groups(move || Exports::new(&program, &export, users)))
    }

    fn program(&self, span: u64, generations: Option<Arc<Generations>>, seed: u64) -> Arc<Program> {
        let plan = &self.plan;
        Arc::new(Program {
            kinds: plan.kinds(),
            places: Places::new(&plan.blocks, plan.pattern, span),
            contents: Contents::new(plan.entropy),
            generations,
            salt: salt(seed),
            plan: plan.clone(),
            reasons: Arc::clone(&self.reasons),
        })
    }

    fn next(&self) -> NextOp {
        let ops = (0..self.ops.len()).map(op_id);
        if matches!(self.plan.sync, Sync::Every(_)) {
            return NextOp::Choose { chooser: ChooserId(0), branches: ops.map(NextOp::Op).collect() };
        }
        let all: u32 = self.plan.mix.iter().map(|(_, weight)| weight).sum();
        let share = |weight: u32| Share::new(f64::from(weight) / f64::from(all.max(1))).unwrap_or_default();
        match self.plan.mix.as_slice() {
            [_] => NextOp::Op(OpId(0)),
            mix => {
                let shares = ops.zip(mix).map(|(op, (_, weight))| (op, share(*weight)));
                let vector = Vector::new(shares.collect());
                NextOp::Vector(vector.expect("the shares of all weights are 1 together"))
            }
        }
    }
}

fn op_id(index: usize) -> OpId {
    OpId(u8::try_from(index).expect("there are three operations"))
}

/// Users of a ring at the most: those of one worker, as far as there is room for them.
fn users_of_ring(plan: &Plan) -> usize {
    let workers = u32::try_from(plan.driver.workers.max(1)).unwrap_or(u32::MAX);
    let room = room_of_ring(DiskPlan::of(plan));
    let users = match plan.most_users() {
        0 => room,
        users => u64::from(users.div_ceil(workers)).min(room),
    };
    users as usize
}

/// Users for which a ring has room.
fn room_of_ring(plan: &DiskPlan) -> u64 {
    (BYTES_OF_RING / plan.largest()).clamp(1, MOST_OF_RING)
}

impl Workload for DiskWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &self.ops
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let rules = &self.plan.rules;
        let rule = |op: usize| QosRule {
            op: op_id(op),
            quantile: rules.quantile,
            limit: rules.limit,
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: rules.failures,
        };
        let all: Vec<QosRule> = (0..self.ops.len()).map(rule).collect();
        (name == NAME).then(|| Profile::usual(NAME, &all, None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let pace = match self.plan.think {
            Nanos::ZERO => Pace::AtOnce,
            think => Pace::Think(Distribution::Constant(think)),
        };
        let next = vec![Some(self.next()); self.ops.len()];
        let main = Behaviour { name: "main", first: OpId(0), next, pace };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn application(&self) -> Option<&dyn Application> {
        self.server.as_ref().map(|server| server as &dyn Application)
    }

    fn target(&self) -> Option<&str> {
        self.url.as_deref()
    }

    fn target_is_of_driver(&self) -> bool {
        self.place.is_file()
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        // A thread has the file open, and a ring has three descriptors.
        let groups = u64::from(users).div_ceil(room_of_ring(&self.plan));
        match (self.place.is_file(), self.plan.engine) {
            (false, _) => groups,
            (true, Engine::Threads) => users.into(),
            (true, Engine::IoUring) => groups * 3,
        }
    }

    fn operations_block(&self) -> bool {
        self.plan.engine == Engine::Threads
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let Some(path) = self.path() else { return Vec::new() };
        let looked = Target::of(path, &self.plan);
        let target = looked.err().and_then(|why| self.refusal(plan, &why));
        let instead = "leave target.url out, for a file in the folder of the driver";
        let elsewhere = plan.drivers_elsewhere("the target is on its machine", Some(instead));
        target.into_iter().chain(elsewhere).collect()
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = &self.plan;
        let blocks: Vec<Value> =
            plan.blocks.iter().map(|b| json!({ "bytes": b.bytes, "weight": b.weight })).collect();
        let section = json!({
            "way": plan.ways(&self.place),
            "direct": self.place.is_file().then_some(plan.direct),
            "filters": plan.server.as_ref().map(Server::chain),
            "bytes": plan.size,
            "blocks": blocks,
            "pattern": format!("{:?}", plan.pattern),
            "entropy": Contents::new(plan.entropy).entropy(),
            "sync": format!("{:?}", plan.sync),
            "verified": plan.verify,
            "queue": self.path().map(device::queue),
        });
        Map::from_iter([("disk_load".to_owned(), section)])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Filled, LoadError>>> {
        let path = self.path()?.to_owned();
        let looked = Target::of(&path, &self.plan);
        if looked.is_ok_and(|target| !target.is_filled_by_us()) {
            return None;
        }
        let (plan, seed) = (self.plan.clone(), job.plan.seed);
        let kept = Arc::clone(&self.filled);
        let stop = StopAtEnd(Arc::default());
        let stopped = Arc::clone(&stop.0);
        Some(Box::pin(async move {
            let filling = tokio::task::spawn_blocking(move || {
                let fill = Fill { path: &path, plan: &plan, seed, stopped: &stopped, progress: &progress };
                FilledTarget::fill(&fill, &kept)
            });
            let filled = filling.await;
            drop(stop);
            let filled = filled.map_err(|why| LoadError::Fill { url: self.shown(), why: why.into() })?;
            match filled {
                Ok(reused) => Ok(self.filled(job.plan.seed, reused)),
                Err(why) => Err(self.load_error(job.plan, why)),
            }
        }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let how = (users_of_ring(job.plan), job.plan.seed);
        let loaded = match self.path() {
            Some(path) if job.url == IN_FOLDER => self.load_unit(path, how),
            Some(path) => self.load_path(path, how),
            None => self.load_export(job.url, how),
        };
        loaded.map_err(|why| self.load_error(job.plan, why))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&self.ops)
    }
}

impl DiskWorkload {
    /// A fill as the record has it.
    fn filled(&self, seed: u64, reused: bool) -> Filled {
        let DiskPlan { size, entropy, .. } = self.plan;
        let entropy = Contents::new(entropy).entropy();
        Filled {
            rows: vec![Count::new("MiB", size / COUNTED)],
            bytes: vec![Count::new("target", size)],
            reused,
            stamp: format!("{NAME}-{VERSION}-{size}-e{entropy}-s{seed}"),
            ..Filled::default()
        }
    }
}
