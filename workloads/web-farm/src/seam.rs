//! The implementation of the workload's interfaces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use barograph_engine::Runnable;
use barograph_model::words::in_one_line;
use barograph_model::{
    Behaviour, Behaviours, Bound, MeasureSpec, MissedBeats, Nanos, NextOp, OpId, OpSpec, Pace, Profile,
    QosRule, Rule, Share, Subject,
};
use barograph_platform::{BoxFuture, Readiness, Unit};
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, Gauge, Job, LoadError, LoadJob, Program, Reasons, Verb, Workload,
    WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::fill::Fill;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{FarmPlan, PROFILES, rate_of};
use crate::prepared::{Cause, PreparedLoad};
use crate::segments::Segments;
use crate::serve::Serve;
use crate::sets::{FILES, Sets};
use crate::topology::{self, SETS};
use crate::user::FarmUsers;

/// Its name in plans.
pub(crate) const NAME: &str = "web-farm";

/// Version of the workload. It rises with every change that can move results.
const VERSION: u32 = 1;

/// Its only operation.
const OPS: [OpSpec; 1] = [OpSpec { name: "Fetch", about: "fetches the whole set of a server" }];

/// Longest time for writing all sets: far more than 1,000 of them take.
const FILL_TIMEOUT: Duration = Duration::from_secs(300);

/// Factory of the web farm of plans.
pub struct WebFarm;

impl WorkloadFactory for WebFarm {
    fn about(&self) -> &'static str {
        "many small web servers, each loaded at a fixed rate: how many a host holds"
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        match verb {
            Verb::Serve => Some(&Serve),
            Verb::Fill => Some(&Fill),
            Verb::Load => None,
        }
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(FarmWorkload::new(plan)))
    }
}

/// The web farm of a plan.
struct FarmWorkload {
    plan: FarmPlan,
    seed: u64,
    /// Whether the servers are on the driver's host, so that its CPU is judged.
    is_deployed: bool,
    /// Whether operations are done in this process.
    drives_here: bool,
    /// The sets, made once: their pictures take longer than all else before a load.
    sets: OnceLock<Sets>,
    reasons: Arc<Mutex<Reasons>>,
    segments: Mutex<Option<Segments>>,
}

impl FarmWorkload {
    fn new(plan: &Plan) -> Self {
        FarmWorkload {
            plan: FarmPlan::of(plan).clone(),
            seed: plan.seed,
            is_deployed: plan.target.url.is_none(),
            drives_here: plan.driver.count == 1 && plan.driver.place != "unit",
            sets: OnceLock::new(),
            reasons: Reasons::shared(),
            segments: Mutex::default(),
        }
    }

    /// The load prepared for its servers, all of which answer. Blocks.
    fn prepared(&self, url: &str) -> Result<PreparedLoad, Cause> {
        let sets = match self.sets.get() {
            Some(sets) => sets,
            None => {
                let made = Sets::new(self.seed)?;
                self.sets.get_or_init(|| made)
            }
        };
        PreparedLoad::new(url, sets, (self.plan.connections, self.plan.verify))
    }
}

impl Workload for FarmWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &OPS
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        PROFILES.iter().map(|(name, _)| *name).collect()
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let (name, _) = rate_of(name)?;
        let rule = QosRule {
            op: OpId(0),
            quantile: self.plan.quantile,
            limit: Some(self.plan.limit),
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: self.plan.failures,
        };
        let mut profile = Profile::usual(name, &[rule], None);
        if self.is_deployed && self.plan.judges_cpu() {
            let bound = Bound::AtMost(self.plan.most_cpu);
            profile.rules.push(Rule { subject: Subject::HostCpu, bound });
        }
        Some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let every = Nanos(1_000_000_000 / u64::from(self.plan.rate(profile)?));
        let pace = Pace::Beat { every, missed: MissedBeats::Beside { most: self.plan.connections } };
        let main = Behaviour { name: "main", first: OpId(0), next: vec![Some(NextOp::Op(OpId(0)))], pace };
        Behaviours::new(vec![main]).ok()
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * u64::from(self.plan.connections)
    }

    fn notice(&self) -> Option<&'static str> {
        Some("A user is the client of one server.")
    }

    fn disclose(&self) -> Map<String, Value> {
        let section = json!({
            "server": self.is_deployed.then_some(self.plan.server),
            "servers": self.is_deployed.then_some(self.plan.servers),
            "files_of_a_set": FILES,
            "hashes_verified": self.plan.verify,
            "connections_each": self.plan.connections,
        });
        Map::from_iter([("web_farm".to_owned(), section)])
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let load = self.prepared(job.url);
        let load = load.map_err(|why| LoadError::Unreachable { url: job.url.to_owned(), why })?;
        let (load, reasons) = (Arc::new(load), Arc::clone(&self.reasons));
        Ok(barograph_engine::runnable(move || FarmUsers::new(&load, &reasons)))
    }

    fn gauges(&self) -> Vec<Gauge> {
        let now = Segments::now().filter(|_| self.drives_here);
        let mut last = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        match (now, std::mem::replace(&mut *last, now)) {
            (Some(now), Some(last)) => now.since(last),
            _ => Vec::new(),
        }
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&OPS)
    }
}

impl Application for FarmWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        topology::topology(plan, &self.plan)
    }

    fn job_unit(&self, part: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Option<Unit> {
        let folder = words.get(SETS).filter(|_| part == SETS)?;
        // If the program cannot find itself, the platform's preflight refuses it by this name.
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        let (servers, seed) = (self.plan.servers.to_string(), self.seed.to_string());
        let args = ["fill", NAME, "--folder", folder, "--servers", &servers, "--seed", &seed];
        Some(Unit {
            args: args.map(str::to_owned).to_vec(),
            workdir: job.log.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
            log: job.log.clone(),
            ..Unit::new("web-farm fill", program, Readiness::Exit { timeout: FILL_TIMEOUT })
        })
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let load = self.prepared(url);
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || load?.ask_all());
            let asked = asked.await.map_err(|why| why.to_string())?;
            asked.map_err(|why| in_one_line(&*why))
        })
    }
}
