//! The implementation of the workload's interfaces.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_engine::Runnable;
use barograph_model::{
    Behaviour, Behaviours, Bound, ChooserId, Distribution, MeasureSpec, Nanos, NextOp, OpId, OpSpec, Pace,
    Profile, QosRule, Rule, Share, Subject,
};
use barograph_net::{Endpoint, Peer, Routes};
use barograph_platform::BoxFuture;
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, LoadCommand, LoadError, LoadJob, Program, Reasons, Verb,
    VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::control::Control;
use crate::driver::{NetUsers, PreparedLoad};
use crate::measures::{COUNTERS, DATAGRAM_COUNTERS, RATE, measures};
use crate::pattern::Pattern;
use crate::plan::{NetPlan, host_and_port};
use crate::sampler::{Sampler, SamplerTarget};
use crate::topology;
use crate::verify::{self, DriverCounts};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "net";

/// Version of the workload. It rises with every change that can move results.
const VERSION: u32 = 3;

/// Time limit of the responder's first answer before the load.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Factory of the network load of plans.
pub struct Net;

impl WorkloadFactory for Net {
    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        (verb == Verb::Serve).then_some(self)
    }

    fn about(&self) -> &'static str {
        "streams, requests and connections between the driver and a responder of this program"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(NetWorkload::new(NetPlan::of(plan).clone())))
    }
}

/// The network load of a plan.
pub(crate) struct NetWorkload {
    plan: NetPlan,
    counts: Arc<DriverCounts>,
    reasons: Arc<Mutex<Reasons>>,
}

impl NetWorkload {
    pub(crate) fn new(plan: NetPlan) -> Self {
        NetWorkload { plan, counts: Arc::default(), reasons: Reasons::shared() }
    }

    /// The load prepared for a responder that answers.
    pub(crate) fn prepared(&self, url: &str) -> Result<PreparedLoad, Box<dyn Error + Send + Sync>> {
        let settings = self.plan.run;
        let (address, routes) = route(url)?;
        let place = Control::connect(address)?.begin(settings)?;
        let (port, routes) = match place.port {
            0 => (address.port(), routes),
            port => (port, Routes::at(SocketAddr::new(address.ip(), port))),
        };
        let datagrams = settings.datagrams.then_some(place.token);
        let sampler = Sampler::start(SamplerTarget { address, port, pattern: settings.pattern, datagrams })?;
        let ledger = self.counts.add(place.token);
        let reasons = Arc::clone(&self.reasons);
        Ok(PreparedLoad::new(settings, place.token, routes, (ledger, sampler, reasons)))
    }
}

/// The first address of a responder that answers, and the routes to it.
pub(crate) fn route(url: &str) -> Result<(SocketAddr, Routes), Box<dyn Error + Send + Sync>> {
    let (host, port) = host_and_port(url)?;
    let routes = Endpoint::Host { host, port }.resolve(&[])?.answering(None, FIRST_ANSWER)?;
    match routes.peer(0) {
        Peer::Tcp(address) => Ok((*address, Routes::at(*address))),
        Peer::Unix(_) => Err("it is no network address".into()),
    }
}

impl Workload for NetWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        self.plan.run.pattern.ops()
    }

    fn counters(&self) -> &[&'static str] {
        if self.plan.run.datagrams { &DATAGRAM_COUNTERS } else { &COUNTERS }
    }

    fn measures(&self) -> &[MeasureSpec] {
        measures(self.plan.run.datagrams)
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let rules = &self.plan.rules;
        let rule = |op: u8| QosRule {
            op: OpId(op),
            quantile: rules.quantile,
            limit: rules.limit,
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: rules.failures,
        };
        let usual: Vec<QosRule> = (0..self.ops().len() as u8).map(rule).collect();
        let mut profile = Profile::usual(NAME, &usual, None);
        if rules.least_gbit > 0.0 {
            let bound = Bound::AtLeast(rules.least_gbit);
            profile.rules.push(Rule { subject: Subject::Measure(RATE), bound });
        }
        (name == NAME).then_some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let next = match self.plan.run.pattern {
            // The place of a user in its connection says what it does.
            Pattern::Both => NextOp::Choose {
                chooser: ChooserId(0),
                branches: vec![NextOp::Op(OpId(0)), NextOp::Op(OpId(1))],
            },
            _ => NextOp::Op(OpId(0)),
        };
        let pace = match self.plan.think {
            Nanos::ZERO => Pace::AtOnce,
            think => Pace::Think(Distribution::Constant(think)),
        };
        let next = vec![Some(next); self.ops().len()];
        let main = Behaviour { name: "main", first: OpId(0), next, pace };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users.div_ceil(self.plan.run.pattern.users()))
    }

    /// A stream takes what both ends can do, so a busy worker is no defect.
    fn measures_driver(&self) -> bool {
        self.plan.run.pattern.is_stream()
    }

    fn disclose(&self) -> Map<String, Value> {
        let run = &self.plan.run;
        let section = json!({
            "protocol": if run.datagrams { "udp" } else { "tcp" },
            "receive": if run.discards { "discard" } else { "copy" },
            "bytes_verified": run.verifies,
        });
        Map::from_iter([("net".to_owned(), section)])
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let unreachable = |why| LoadError::Unreachable { url: job.url.to_owned(), why };
        let prepared = Arc::new(self.prepared(job.url).map_err(unreachable)?);
        Ok(barograph_engine::runnable_groups(move || NetUsers::new(&prepared)))
    }

    fn counts(&self) -> Vec<i64> {
        self.counts.of_this_driver()
    }

    fn add_counts(&self, counts: &[i64]) {
        self.counts.add_of_other(counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(self.ops())
    }
}

impl Application for NetWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        topology::topology(plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let url = url.to_owned();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let (address, _) = route(&url).map_err(|why| why.to_string())?;
                let report = Control::connect(address).and_then(|mut line| line.report(address.port()));
                report.map(|_| ()).map_err(|why| why.to_string())
            });
            asked.await.unwrap_or_else(|why| Err(why.to_string()))
        })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let (url, counts, datagrams) = (url.to_owned(), Arc::clone(&self.counts), self.plan.run.datagrams);
        Some(Box::pin(async move {
            let compare = if datagrams { verify::of_datagrams } else { verify::of_connections };
            let compared = tokio::task::spawn_blocking(move || counts.compare(&url, compare));
            compared.await.unwrap_or_else(|why| Err(why.to_string()))
        }))
    }
}
