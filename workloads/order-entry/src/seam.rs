//! The workload behind the seam.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use barograph_engine::{Runnable, runnable_threads};
use barograph_model::words::in_one_line;
use barograph_model::{
    Behaviour, Behaviours, Bound, ChooserId, MeasureSpec, Nanos, Next, OpSpec, Profile, QosRule, Rule, Share,
    Subject,
};
use barograph_platform::Later;
use barograph_record::{Count, Fill, Tier};
use barograph_spec::{Ability, Connections, Plan, Refusal, Refused};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, FillProgress, LoadError, LoadJob, OnProgress, Reasons, Verified,
    Workload, WorkloadFactory,
};
use parking_lot::FairMutex;
use serde_json::{Map, Value, json};

use crate::draw::Constants;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{OrderEntryPlan, address, file, generator};
use crate::sqlite::{self, CACHE_KIB, ConnectionOptions, Files, SqliteError, SqliteUsers};
use crate::tables::{Size, Table};
use crate::tally::Tally;
use crate::user::{Shared, Transaction};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "order-entry";

/// The sentence at the end of every verdict.
pub(crate) const NOTICE: &str =
    "Order-Entry is derived from TPC-C: this is no TPC result and cannot be compared with one.";

/// Limits on the 90th percentile of response times, by transaction.
const LIMITS: [Nanos; 5] = {
    let five = Nanos::from_secs(5);
    [five, five, five, five, Nanos::from_secs(20)]
};

/// Least shares of transactions. New-Order is the rest.
const SHARES: [(Transaction, f64); 4] = [
    (Transaction::Payment, 0.43),
    (Transaction::OrderStatus, 0.04),
    (Transaction::Delivery, 0.04),
    (Transaction::StockLevel, 0.04),
];

/// Largest share of failed transactions. Planned rollbacks are no failures.
const FAILURES: Share = Share::percent(0.1);

/// Open files of a user: the database, its log and the index of the log.
const FILES: u64 = 3;

/// Makes the workload of plans.
pub struct OrderEntry;

impl WorkloadFactory for OrderEntry {
    fn about(&self) -> &'static str {
        "orders, payments and deliveries of a wholesale supplier on a database (derived from TPC-C)"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refused> {
        Ok(Arc::new(OrderEntryWorkload::new(plan)))
    }
}

/// The workload of a plan.
struct OrderEntryWorkload {
    plan: OrderEntryPlan,
    generator: Generator,
    url: String,
    file: std::path::PathBuf,
    tally: Arc<Tally>,
    reasons: Arc<Mutex<Reasons>>,
    /// The locked files, from the fill on.
    files: Arc<Mutex<Option<Files>>>,
}

impl OrderEntryWorkload {
    fn new(plan: &Plan) -> Self {
        let file = file(plan);
        OrderEntryWorkload {
            plan: OrderEntryPlan::of(plan).clone(),
            generator: generator(plan),
            url: address(&file),
            file,
            tally: Arc::default(),
            reasons: Reasons::shared(),
            files: Arc::default(),
        }
    }

    /// The refusal of the file.
    fn refusal(&self, plan: &Plan, why: &SqliteError) -> Refusal {
        Refusal {
            place: plan.place("target.url").to_owned(),
            key: "target.url".to_owned(),
            value: format!("{:?}", self.url),
            allowed: format!("a file of this size and seed, or none yet: cannot {}", in_one_line(why)),
            remedy: "remove the file if nothing needs it, or name another".to_owned(),
        }
    }
}

/// Stops the fill when it is dropped.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Workload for OrderEntryWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &Transaction::SPECS
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
        let rule = |transaction: Transaction| QosRule {
            op: transaction.op(),
            quantile: Share::percent(90.0),
            limit: Some(LIMITS[transaction as usize]),
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: FAILURES,
        };
        let mut profile = Profile::usual(NAME, &Transaction::ALL.map(rule), None);
        profile.rules.extend(SHARES.map(|(transaction, share)| Rule {
            subject: Subject::Mix(transaction.op()),
            bound: Bound::AtLeast(share),
        }));
        (name == NAME).then_some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let branches = Transaction::ALL.map(|transaction| Next::Op(transaction.op())).to_vec();
        let next = Next::Choose { chooser: ChooserId(0), branches };
        let main = Behaviour {
            name: "main",
            first: Transaction::NewOrder.op(),
            next: vec![Some(next); Transaction::ALL.len()],
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
        let file = sqlite::found(&self.file, &self.generator).err().map(|why| self.refusal(plan, &why));
        let driver = &plan.driver;
        let is_elsewhere = driver.count > 1 || driver.place == "unit" || plan.deploy.has(Ability::Hosts);
        let elsewhere = is_elsewhere.then(|| Refusal {
            place: plan.place("driver.place").to_owned(),
            key: "driver.place".to_owned(),
            value: format!("{:?}", driver.place),
            allowed: "one driver, which is this process: the database is in it".to_owned(),
            remedy: "leave driver.place, driver.count and platform out".to_owned(),
        });
        file.into_iter().chain(elsewhere).collect()
    }

    fn disclose(&self) -> Map<String, Value> {
        let Size { warehouses, scale, items, customers } = self.generator.size;
        let section = json!({
            "notice": NOTICE,
            "engine": format!("SQLite {}", rusqlite::version()),
            "form": "statements: a call for each",
            "isolation": "serializable; transactions that write begin with the write lock",
            "durability": self.plan.durability(),
            "write_lock": if self.plan.is_queued { "queue" } else { "busy" },
            "busy_ms": self.plan.busy.as_millis() as u64,
            "cache_kib_per_connection": CACHE_KIB,
            "warehouses": warehouses,
            "scale": scale,
            "items": items,
            "customers_per_district": customers,
            "mix": "decks of 23 cards: 10 New-Order, 10 Payment, 1 Order-Status, 1 Delivery, 1 Stock-Level",
            "waits": self.plan.waits,
            "constants": format!("{:?}", Constants::of_seed(self.generator.seed)),
        });
        Map::from_iter([("order_entry".to_owned(), section)])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<Later<'a, Result<Fill, LoadError>>> {
        let (file, generator, kept) = (self.file.clone(), self.generator, Arc::clone(&self.files));
        let stop = StopAtEnd(Arc::default());
        let stopped = Arc::clone(&stop.0);
        Some(Box::pin(async move {
            let filling = tokio::task::spawn_blocking(move || {
                let files = Files::take(&file)?;
                let filled = fill(&files, &generator, (&stopped, &progress))?;
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
                Ok(filled)
            });
            let filled = filling.await;
            drop(stop);
            let failed = |why| LoadError::Fill { url: self.url.clone(), why };
            match filled.map_err(|why| failed(why.into()))? {
                Ok(filled) => Ok(filled),
                Err(why @ (SqliteError::NotOurs { .. } | SqliteError::InUse { .. })) => {
                    Err(LoadError::Refused(Refused(vec![self.refusal(job.plan, &why)])))
                }
                Err(why) => Err(failed(why.into())),
            }
        }))
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let Generator { size, seed, .. } = self.generator;
        let shared = Shared {
            inputs: Inputs { size, constants: Constants::of_seed(seed) },
            tally: Arc::clone(&self.tally),
            reasons: Arc::clone(&self.reasons),
        };
        let OrderEntryPlan { is_durable, is_queued, busy, .. } = self.plan;
        let users = SqliteUsers {
            shared: Arc::new(shared),
            connecting: ConnectionOptions { path: Files::copy(&self.file), is_durable, busy },
            queue: is_queued.then(|| Arc::new(FairMutex::new(()))),
        };
        Ok(runnable_threads(move || users.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&Transaction::SPECS)
    }
}

/// Fills the database, unless it is filled, and copies it for the run.
fn fill(
    files: &Files,
    generator: &Generator,
    (stopped, progress): (&AtomicBool, &OnProgress),
) -> Result<Fill, SqliteError> {
    let total = Table::ALL.into_iter().map(|table| generator.size.rows(table)).sum();
    let mut done = 0;
    let filled = files.fill(generator, |table, rows| {
        done += rows;
        progress(FillProgress { stage: table.name().to_owned(), done, total });
        !stopped.load(Ordering::Relaxed)
    })?;
    progress(FillProgress { stage: "copy".to_owned(), done: 0, total: filled.bytes });
    files.reset()?;
    let Size { warehouses, scale, .. } = generator.size;
    Ok(Fill {
        rows: filled.rows.into_iter().map(|(table, rows)| Count::new(table, rows)).collect(),
        bytes: vec![Count::new("database", filled.bytes)],
        reused: filled.reused,
        stamp: format!("order-entry-{}-w{warehouses}-x{scale}-s{}", crate::VERSION, generator.seed),
        ..Fill::default()
    })
}

impl Application for OrderEntryWorkload {
    fn topology(&self, _: &Plan, _: Option<&DataSet>) -> Topology {
        Topology::empty()
    }

    fn answers<'a>(&'a self, _: &'a str) -> Later<'a, Result<(), String>> {
        let file = Files::copy(&self.file);
        Box::pin(async move {
            match file.exists() {
                true => Ok(()),
                false => Err(format!("there is no `{}`", file.display())),
            }
        })
    }

    fn tiers<'a>(&'a self, _: &'a str) -> Later<'a, Result<Vec<Tier>, String>> {
        let tier = Tier {
            tier: "database".to_owned(),
            product: format!("SQLite {}", rusqlite::version()),
            durability: self.plan.durability().to_owned(),
        };
        Box::pin(async move { Ok(vec![tier]) })
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, _: &'a str) -> Option<Later<'a, Result<Verified, String>>> {
        let (file, generator, tally) = (self.file.clone(), self.generator, Arc::clone(&self.tally));
        Some(Box::pin(async move {
            let checking = tokio::task::spawn_blocking(move || {
                let checked = sqlite::check(&Files::copy(&file), &generator, tally.counted())?;
                if checked.violations.is_empty() {
                    Files::remove_copy(&file)?;
                }
                Ok::<_, SqliteError>(checked)
            });
            let checked = checking.await.map_err(|why| why.to_string())?;
            let wrong = checked.map_err(|why| in_one_line(&why))?.violations;
            Ok(Verified { ok: wrong.is_empty(), findings: wrong })
        }))
    }
}
