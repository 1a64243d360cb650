//! The implementation of the workload's interfaces.

use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_engine::Runnable;
use barograph_model::{
    Behaviour, Behaviours, Bound, Distribution, MeasureSpec, Nanos, NextOp, OpId, OpSpec, Pace, Profile,
    QosRule, Rule, Share, Subject, Vector,
};
use barograph_net::{Alpn, Endpoint, Peer, Routes, SetupError, Tls, TlsConfig, Verify, certificates};
use barograph_platform::BoxFuture;
use barograph_record::Fill;
use barograph_resp::{Address, Host};
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, LoadCommand, LoadError, LoadJob, OnProgress, Program, Reasons,
    SentFile, Verb, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::measures::{COUNTERS, HIT_SHARE, MEASURES};
use crate::plan::KvPlan;
use crate::program::PreparedLoad;
use crate::worker::KvUsers;
use crate::{fill, topology};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "kv";

/// Version of the workload. It rises with every change that can move results.
const VERSION: u32 = 1;

/// Time limit of a store's first answer before the load.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Factory of the key-value load of plans.
pub struct KeyValue;

impl WorkloadFactory for KeyValue {
    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        (verb == Verb::Serve).then_some(self)
    }

    fn about(&self) -> &'static str {
        "commands to Redis, Valkey or what speaks their protocol, direct or through proxies"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(KvWorkload::new(KvPlan::of(plan).clone())))
    }

    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        let mut workload = KvWorkload::new(KvPlan::of(plan).clone());
        workload.authorities = files.first().map(|(_, bytes)| Arc::clone(bytes));
        Ok(Arc::new(workload))
    }
}

/// The key-value load of a plan.
pub(crate) struct KvWorkload {
    plan: KvPlan,
    ops: Vec<OpSpec>,
    /// The trusted authorities, if sent by the harness.
    authorities: Option<Arc<[u8]>>,
    reasons: Arc<Mutex<Reasons>>,
}

impl KvWorkload {
    fn new(plan: KvPlan) -> Self {
        let ops = plan.mix.iter().map(|(verb, _)| verb.spec()).collect();
        KvWorkload { plan, ops, authorities: None, reasons: Reasons::shared() }
    }

    /// The load prepared for its stores, all of which answer.
    fn program(&self, job: &LoadJob<'_>) -> Result<Arc<PreparedLoad>, LoadError> {
        let unreachable =
            |why: Box<dyn Error + Send + Sync>| LoadError::Unreachable { url: shown(job.url), why };
        let address = Address::parse(job.url).map_err(|why| unreachable(why.into()))?;
        let tls = self.tls(job.plan, &address).map_err(|why| unreachable(why.into()))?;
        let stores: Result<Vec<Routes>, Box<dyn Error + Send + Sync>> =
            address.hosts.iter().map(|host| routes(host)?.answering(tls.as_ref(), FIRST_ANSWER)).collect();
        let stores = stores.map_err(unreachable)?;
        Ok(Arc::new(PreparedLoad::new(self.plan.clone(), job.plan.seed, address, (stores, tls))))
    }

    fn tls(&self, plan: &Plan, address: &Address) -> Result<Option<TlsConfig>, SetupError> {
        if !address.tls {
            return Ok(None);
        }
        let own = &self.plan.tls;
        let authorities = match (&self.authorities, &own.authorities) {
            (Some(sent), _) => Some(Arc::clone(sent)),
            (None, Some(file)) => Some(certificates(&plan.file_of("target.tls.authorities", file))?),
            (None, None) => None,
        };
        let verify = if own.verify { Verify::Peer } else { Verify::Nothing };
        let tls = Tls { authorities, verify, server_name: own.server_name.clone(), ..Tls::default() };
        let host = match &address.hosts[0] {
            Host::Tcp { name, .. } => name.as_str(),
            Host::Unix(_) => "localhost",
        };
        TlsConfig::new(&tls, host, Alpn::NONE).map(Some)
    }
}

/// The routes to a store. On the loopback network they come from its first address: Redis refuses any other
/// by default (protected mode).
fn routes(host: &Host) -> Result<Routes, SetupError> {
    let endpoint = match host {
        Host::Tcp { name, port } => Endpoint::Host { host: name.clone(), port: *port },
        Host::Unix(path) => Endpoint::Unix(path.clone()),
    };
    let routes = endpoint.resolve(&[])?;
    let is_loopback = |peer: &Peer| matches!(peer, Peer::Tcp(address) if address.ip().is_loopback());
    if routes.peers().all(is_loopback) {
        return endpoint.resolve(&[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    Ok(routes)
}

/// An address without its password.
fn shown(url: &str) -> String {
    Address::parse(url).map_or_else(|_| url.to_owned(), |address| address.to_string())
}

impl Workload for KvWorkload {
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
        let usual: Vec<QosRule> = (0..self.ops.len()).map(rule).collect();
        let mut profile = Profile::usual(NAME, &usual, None);
        if rules.hits > Share::ZERO {
            let bound = Bound::AtLeast(rules.hits.get() * 100.0);
            profile.rules.push(Rule { subject: Subject::Measure(HIT_SHARE), bound });
        }
        (name == NAME).then_some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        if profile != NAME {
            return None;
        }
        let all: u32 = self.plan.mix.iter().map(|(_, weight)| weight).sum();
        let share = |weight: u32| Share::new(f64::from(weight) / f64::from(all.max(1))).unwrap_or_default();
        let mix = self.plan.mix.iter().enumerate().map(|(op, (_, weight))| (op_id(op), share(*weight)));
        let next = match self.ops.len() {
            1 => NextOp::Op(OpId(0)),
            _ => {
                NextOp::Vector(Vector::new(mix.collect()).expect("the shares of all weights are 1 together"))
            }
        };
        let pace = match self.plan.think {
            Nanos::ZERO => Pace::AtOnce,
            think => Pace::Think(Distribution::Constant(think)),
        };
        let next = vec![Some(next); self.ops.len()];
        let main = Behaviour { name: "main", first: OpId(0), next, pace };
        Some(Behaviours::new(vec![main]).expect("every command is followed by one of the mix"))
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        let parts = &self.plan.deploy;
        let stores = if parts.proxies > 0 || parts.balancer != "none" { 1 } else { parts.stores };
        u64::from(users.div_ceil(self.plan.pipeline)) * u64::from(stores)
    }

    fn disclose(&self) -> Map<String, Value> {
        let tls = &self.plan.tls;
        let section = json!({ "certificates_verified": tls.verify, "values_verified": self.plan.verify });
        Map::from_iter([("kv".to_owned(), section)])
    }

    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        let Some(file) = &self.plan.tls.authorities else { return Ok(Vec::new()) };
        match std::fs::read(file) {
            Ok(bytes) => Ok(vec![(file.clone(), bytes.into())]),
            Err(why) => Err(LoadError::ReadFile { path: file.clone(), why }),
        }
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        if self.plan.fill == Share::ZERO {
            return None;
        }
        Some(Box::pin(async move {
            let program = self.program(job)?;
            let filled = fill::fill(program, progress).await;
            filled.map_err(|why| LoadError::Fill { url: shown(job.url), why: why.into() })
        }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let program = self.program(job)?;
        let reasons = Arc::clone(&self.reasons);
        Ok(barograph_engine::runnable_groups(move || KvUsers::new(&program, &reasons)))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&self.ops)
    }
}

fn op_id(index: usize) -> OpId {
    OpId(u8::try_from(index).expect("there are eleven commands"))
}

impl Application for KvWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        topology::topology(plan, &self.plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(crate::ask::answers(url.to_owned()))
    }
}
