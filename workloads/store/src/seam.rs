//! The workload behind the seam.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::sqlite::{
    CACHE_KIB, ConnectionOptions, FillResult, SqliteError, StopAtEnd, Target, Users, address, durability,
    version,
};
use barograph_engine::{Runnable, runnable_threads};
use barograph_model::words::in_one_line;
use barograph_model::{
    Behaviour, Behaviours, ChooserId, MeasureSpec, Nanos, NextOp, OpSpec, Profile, QosRule, Rule, Share,
};
use barograph_platform::BoxFuture;
use barograph_record::{Count, Fill, Tier};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, FillProgress, LoadError, LoadJob, OnProgress, Reasons, VerifyResult,
    Workload, WorkloadFactory,
};
use parking_lot::FairMutex;
use serde_json::{Map, Value, json};

use crate::checks;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{StorePlan, file, generator};
use crate::tables::{Size, Table};
use crate::tally::Tally;
use crate::user::{LoadState, Operation, Visitor};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "store";

/// The sentence at the end of every verdict.
pub(crate) const NOTICE: &str =
    "Store is derived from DVD Store: this is no DVD Store result and cannot be compared with one.";

/// Limits on the 90th and the 99th percentile of response times of operations that read.
const READ_LIMITS: [Nanos; 2] = [Nanos::from_millis(500), Nanos::from_secs(1)];

/// The same of operations that write.
const WRITE_LIMITS: [Nanos; 2] = [Nanos::from_secs(1), Nanos::from_secs(2)];

/// Tolerance of the shares of operations, relative to them.
const MIX_TOLERANCE: Share = Share::percent(10.0);

/// Largest share of failed operations. Planned shortages are no failures.
const FAILURES: Share = Share::percent(0.1);

/// Open files of a user: the database, its log and the index of the log.
const FILES: u64 = 3;

/// Makes the workload of plans.
pub struct Store;

impl WorkloadFactory for Store {
    fn about(&self) -> &'static str {
        "visitors of a web store who search and buy, on a database (derived from DVD Store)"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(StoreWorkload::new(plan)))
    }
}

/// The workload of a plan.
struct StoreWorkload {
    plan: StorePlan,
    target: Target<Generator>,
    url: String,
    tally: Arc<Tally>,
    reasons: Arc<Mutex<Reasons>>,
}

impl StoreWorkload {
    fn new(plan: &Plan) -> Self {
        let file = file(plan);
        StoreWorkload {
            plan: StorePlan::of(plan).clone(),
            url: address(&file),
            target: Target::new(file, generator(plan)),
            tally: Arc::default(),
            reasons: Reasons::shared(),
        }
    }
}

impl Workload for StoreWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
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

    fn session_op(&self) -> Option<&str> {
        Some(Operation::SPECS[Operation::Purchase as usize].name)
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let limits = |operation: Operation| match operation.access() {
            barograph_database::Access::Read => READ_LIMITS,
            barograph_database::Access::Write => WRITE_LIMITS,
        };
        let rule = |operation: Operation| QosRule {
            op: operation.op(),
            quantile: Share::percent(90.0),
            limit: Some(limits(operation)[0]),
            judged: true,
            mix: self.plan.share(operation),
            mix_tolerance: MIX_TOLERANCE,
            failures: FAILURES,
        };
        let done = Operation::ALL.into_iter().filter(|operation| self.plan.share(*operation) > Share::ZERO);
        let rules: Vec<QosRule> = done.clone().map(rule).collect();
        let mut profile = Profile::usual(NAME, &rules, None);
        profile.rules.extend(
            done.map(|operation| Rule::response(operation.op(), Share::percent(99.0), limits(operation)[1])),
        );
        (name == NAME).then_some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let begin = |operation: Operation| NextOp::EndSession { first: operation.op() };
        let branches = Operation::ALL.map(|operation| match operation {
            Operation::Login | Operation::NewCustomer => begin(operation),
            _ => NextOp::Op(operation.op()),
        });
        let next = NextOp::Choose { chooser: ChooserId(0), branches: branches.to_vec() };
        let main = Behaviour {
            name: "main",
            first: Operation::Login.op(),
            next: vec![Some(next); Operation::ALL.len()],
            pace: self.plan.pace(),
        };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn target(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * FILES
    }

    fn operations_block(&self) -> bool {
        true
    }

    fn notice(&self) -> Option<&'static str> {
        Some(NOTICE)
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.target.refusals(plan)
    }

    fn disclose(&self) -> Map<String, Value> {
        let Size { megabytes, customers, products, orders } = self.target.contents().size;
        let StorePlan { habits, think, is_durable, is_queued, busy, .. } = &self.plan;
        let section = json!({
            "notice": NOTICE,
            "engine": format!("SQLite {}", version()),
            "form": "statements: a call for each",
            "search": "full text (FTS5): both words, whole, by number of the product",
            "isolation": "serializable; transactions that write begin with the write lock",
            "durability": durability(*is_durable),
            "write_lock": if *is_queued { "queue" } else { "busy" },
            "busy_ms": busy.as_millis() as u64,
            "cache_kib_per_connection": CACHE_KIB,
            "megabytes": megabytes,
            "customers": customers,
            "products": products,
            "orders": orders,
            "new_customers": habits.new_customers.get(),
            "searches": habits.searches,
            "search_rows": habits.search_rows,
            "title_hits": habits.title_hits.get(),
            "lines": habits.lines,
            "shortages": habits.shortages.get(),
            "skew": habits.skew,
            "think_s": think.as_secs_f64(),
        });
        Map::from_iter([("store".to_owned(), section)])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let (target, stop) = (self.target.clone(), StopAtEnd::default());
        let stopped = stop.flag();
        Some(Box::pin(async move {
            let filling = tokio::task::spawn_blocking(move || {
                let size = target.contents().size;
                let total = Table::ALL.into_iter().map(|table| size.rows(table)).sum();
                let mut done = 0;
                target.prepare(|table, rows| {
                    done += rows;
                    progress(FillProgress { stage: table.name().to_owned(), done, total });
                    !stopped.load(Ordering::Relaxed)
                })
            });
            let filled = filling.await;
            drop(stop);
            let failed = |why| LoadError::Fill { url: self.url.clone(), why };
            match filled.map_err(|why| failed(why.into()))? {
                Ok(filled) => Ok(self.filled(filled)),
                Err(why @ (SqliteError::NotOurs { .. } | SqliteError::InUse { .. })) => {
                    Err(LoadError::Refused(Refusals(vec![self.target.refusal(job.plan, &why)])))
                }
                Err(why) => Err(failed(why.into())),
            }
        }))
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let StorePlan { habits, is_durable, is_queued, busy, .. } = self.plan;
        let shared = LoadState {
            inputs: Inputs::new(*self.target.contents(), habits),
            tally: Arc::clone(&self.tally),
            reasons: Arc::clone(&self.reasons),
        };
        let users = Users::<Visitor> {
            shared: Arc::new(shared),
            connecting: ConnectionOptions { path: self.target.copy(), is_durable, busy },
            queue: is_queued.then(|| Arc::new(FairMutex::new(()))),
        };
        Ok(runnable_threads(move || users.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&Operation::SPECS)
    }
}

impl StoreWorkload {
    fn filled(&self, filled: FillResult) -> Fill {
        let Generator { size, seed, .. } = self.target.contents();
        // Restocks come with the load.
        let loaded = filled.rows.into_iter().filter(|(_, rows)| *rows > 0);
        Fill {
            rows: loaded.map(|(table, rows)| Count::new(table, rows)).collect(),
            bytes: vec![Count::new("database", filled.bytes)],
            reused: filled.reused,
            stamp: format!("store-{}-{}mb-s{seed}", crate::VERSION, size.megabytes),
            ..Fill::default()
        }
    }
}

impl Application for StoreWorkload {
    fn topology(&self, _: &Plan, _: Option<&DataSet>) -> Topology {
        Topology::empty()
    }

    fn answers<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let file = self.target.copy();
        Box::pin(async move {
            match file.exists() {
                true => Ok(()),
                false => Err(format!("there is no `{}`", file.display())),
            }
        })
    }

    fn tiers<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        let tier = Tier {
            tier: "database".to_owned(),
            product: format!("SQLite {}", version()),
            durability: durability(self.plan.is_durable).to_owned(),
        };
        Box::pin(async move { Ok(vec![tier]) })
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, _: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let (target, tally) = (self.target.clone(), Arc::clone(&self.tally));
        Some(Box::pin(async move {
            let checking = tokio::task::spawn_blocking(move || {
                target.verify(|queries| checks::check(queries, target.contents(), tally.counted()))
            });
            let checked = checking.await.map_err(|why| why.to_string())?;
            let wrong = checked.map_err(|why| in_one_line(&why))?.violations;
            Ok(VerifyResult { ok: wrong.is_empty(), findings: wrong })
        }))
    }
}
