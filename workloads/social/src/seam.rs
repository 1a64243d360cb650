//! The implementation of the workload's interfaces.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_engine::Runnable;
use barograph_http::Policy;
use barograph_model::words::in_one_line;
use barograph_model::{Behaviour, Behaviours, MeasureSpec, NextOp, OpSpec, Pace, Profile};
use barograph_platform::BoxFuture;
use barograph_record::{Count, Figure, Fill};
use barograph_social::{Counts, FillOrder};
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, FillProgress, LoadError, LoadJob, OnProgress, Program, Reasons,
    Verb, VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::ask::{ask, target};
use crate::ledger::Ledger;
use crate::measures::{COUNTERS, MEASURES};
use crate::operation::{Limits, Operation};
use crate::plan::SocialPlan;
use crate::prepared::PreparedLoad;
use crate::rules::{self, PlanFacts};
use crate::user::SocialUsers;
use crate::{topology, verify};

/// Its name in plans.
pub(crate) const NAME: &str = "social";

/// Its profiles.
const PROFILES: [&str; 2] = ["classic", "strict"];

/// Version of the workload. It rises with every change that can move results.
const VERSION: u32 = 2;

/// Time limit of a step of the fill.
const STEP: Duration = Duration::from_secs(300);

/// Time limit of the question whether the site answers.
const HEALTH: Duration = Duration::from_secs(10);

/// Factory of the social load of plans.
pub struct Social;

impl WorkloadFactory for Social {
    fn about(&self) -> &'static str {
        "users of a social site of events, who look, search, join, post and attend (derived from Olio)"
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        (verb == Verb::Serve).then_some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        // The keys of hashers are random, and need no clock and no generator.
        let run = RandomState::new().build_hasher().finish() as u32;
        Ok(Arc::new(SocialWorkload {
            plan: SocialPlan::of(plan).clone(),
            facts: PlanFacts::of(plan),
            seed: plan.seed,
            run,
            before: Mutex::default(),
            ledger: Arc::default(),
            reasons: Reasons::shared(),
        }))
    }
}

/// The social load of a plan.
struct SocialWorkload {
    plan: SocialPlan,
    facts: PlanFacts,
    seed: u64,
    /// Tells the people of this load from those of others, which may have the same seed.
    run: u32,
    /// Numbers of rows before the load.
    before: Mutex<Option<Counts>>,
    ledger: Arc<Ledger>,
    reasons: Arc<Mutex<Reasons>>,
}

impl SocialWorkload {
    fn order(&self) -> FillOrder {
        self.plan.order(self.seed)
    }

    /// Fills the site step by step. A site with the same data returns to its loaded state.
    async fn fill(&self, url: &str, progress: OnProgress) -> Result<Fill, String> {
        let (target, order) = (target(url, Policy::New).map_err(|why| in_one_line(&*why))?, self.order());
        let body = serde_json::to_string(&order).map_err(|why| why.to_string())?;
        let total = order.size().steps();
        for done in 0..total {
            progress(FillProgress { stage: "fill".to_owned(), done, total });
            ask(&target, (format!("/data/fill?step={done}"), Some(body.clone())), STEP).await?;
        }
        let counts = verify::counts(&target).await?;
        let rows = [
            ("people", counts.people),
            ("friends", counts.friends),
            ("tags", counts.tags),
            ("events", counts.events),
            ("attendees", counts.attendees),
            ("comments", counts.comments),
            ("tags of events", counts.event_tags),
        ];
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(counts);
        Ok(Fill {
            max_users: self.plan.users,
            rows: rows.map(|(name, count)| Count::new(name, count as u64)).to_vec(),
            bytes: vec![Count::new("pictures and documents", self.plan.file_bytes())],
            factors: vec![Figure::new("file_scale", self.plan.file_scale)],
            stamp: order.stamp(),
            ..Fill::default()
        })
    }
}

impl Workload for SocialWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &Operation::SPECS
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        PROFILES.to_vec()
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let name = PROFILES.into_iter().find(|known| *known == name)?;
        Some(rules::profile(name, Limits::of(name)?, &self.facts))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let next = Operation::ALL.map(|operation| operation.next().map(NextOp::Vector)).to_vec();
        let cycle = |operation| rules::distribution(operation, self.plan.cycle);
        let pace = Pace::CycleByOperation(Operation::ALL.map(cycle).to_vec());
        let main = Behaviour { name: "main", first: Operation::Home.op(), next, pace };
        Behaviours::new(vec![main]).ok().filter(|_| PROFILES.contains(&profile))
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users)
    }

    fn disclose(&self) -> Map<String, Value> {
        let SocialPlan { users, people_each, file_scale, cycle, deploy } = &self.plan;
        let mut section = json!({
            "data_for_users": users,
            "people_each": people_each,
            "file_scale": file_scale,
            "file_bytes": self.plan.file_bytes(),
            "cycle_s": cycle.as_secs_f64(),
            "mean_cycle_s": rules::mean_s(*cycle),
            "least_cycles": "2 s of AddPerson and 3 s of AddEvent, where the mean is 5 s",
            "empty_caches": "40 % of the sessions",
            "database": deploy.database,
            "cache": deploy.cache,
        });
        for (name, rows) in self.order().size().rows() {
            section[name] = json!(rows);
        }
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        Some(Box::pin(async move {
            let filled = self.fill(job.url, progress).await;
            filled.map_err(|why| LoadError::Fill { url: job.url.to_owned(), why: why.into() })
        }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let policy = match job.plan.driver.connections {
            Connections::Close => Policy::New,
            _ => Policy::PerUser(1),
        };
        let facts = (&self.plan, self.seed, self.run);
        let load = PreparedLoad::new(facts, (job.url, policy), (&self.ledger, &self.reasons));
        let load = Arc::new(load.map_err(|why| LoadError::Unreachable { url: job.url.to_owned(), why })?);
        Ok(barograph_engine::runnable(move || SocialUsers::new(&load)))
    }

    fn counts(&self) -> Vec<i64> {
        self.ledger.numbers()
    }

    fn add_counts(&self, counts: &[i64]) {
        self.ledger.add_numbers(counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&Operation::SPECS)
    }
}

impl Application for SocialWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        topology::topology(plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let target = target(url, Policy::New).map_err(|why| in_one_line(&*why))?;
            ask(&target, ("/health".to_owned(), None), HEALTH).await.map(drop)
        })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        Some(Box::pin(async move {
            let target = target(url, Policy::New).map_err(|why| in_one_line(&*why))?;
            let before = self.before.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let before = before.ok_or("the site was not filled by this run")?;
            let accounts = self.ledger.lock().clone();
            verify::verify(&target, &self.order(), (&before, &accounts)).await
        }))
    }
}
