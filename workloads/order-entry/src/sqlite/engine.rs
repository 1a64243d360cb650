//! SQLite behind the seam to engines.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_database::sqlite::{
    CACHE_KIB, ConnectionOptions, FillResult, SqliteError, address, durability, file_of, version,
};
use barograph_database::{Findings, StopAtEnd};
use barograph_engine::{Runnable, runnable_threads};
use barograph_model::words::in_one_line;
use barograph_platform::BoxFuture;
use barograph_record::Tier;
use barograph_spec::{Plan, Refusal, Refusals, SettingsReader};
use barograph_workload::{FillProgress, LoadError, LoadJob, OnProgress};
use parking_lot::FairMutex;
use serde_json::{Map, Value, json};

use super::{SqliteUsers, Target};
use crate::checks;
use crate::engine::{Engine, FillCounts};
use crate::plan::{OrderEntryPlan, generator};
use crate::tables::{Size, Table};
use crate::tally::Tally;
use crate::user::LoadState;

/// Open files of a user: the database, its log and the index of the log.
const FILES: u64 = 3;

/// The database file of a plan.
pub(crate) struct SqliteEngine {
    plan: OrderEntryPlan,
    url: String,
    target: Target,
}

impl SqliteEngine {
    /// Whether this is the address of a file.
    pub(crate) fn is_address(url: &str) -> bool {
        file_of(url).is_some()
    }

    pub(crate) fn new(plan: &Plan) -> Self {
        let file = file(plan);
        SqliteEngine {
            plan: OrderEntryPlan::of(plan).clone(),
            url: address(&file),
            target: Target::new(file, generator(plan)),
        }
    }
}

/// The database file of a plan.
fn file(plan: &Plan) -> PathBuf {
    match plan.target.url.as_deref().and_then(file_of) {
        Some(file) => file.to_owned(),
        None => {
            let Size { warehouses, scale, .. } = OrderEntryPlan::of(plan).size;
            let part = if scale < 1.0 { format!("-x{scale}") } else { String::new() };
            let load = if plan.load.is_empty() { String::new() } else { format!("-{}", plan.load) };
            let name = format!("order-entry{load}-w{warehouses}{part}-s{}.db", plan.seed);
            let path = plan.data.dir.join(name);
            std::path::absolute(&path).unwrap_or(path)
        }
    }
}

impl Engine for SqliteEngine {
    fn target(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn operations_block(&self) -> bool {
        true
    }

    fn files(&self) -> u64 {
        FILES
    }

    fn lacks(&self) -> &'static [&'static str] {
        &["deadlock_retries_per_s"]
    }

    fn bytes(&self) -> (f64, f64) {
        (71e6, 9e6)
    }

    fn check(&self, _: &Plan, g: &mut SettingsReader) {
        g.refuse_asked(
            "order_entry.isolation",
            "left out with SQLite, which is serializable",
            "leave it out",
        );
        g.refuse_asked("order_entry.form", "left out with SQLite, which has no functions", "leave it out");
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.target.refusals(plan)
    }

    fn explain(&self, _: &Plan) -> (&'static str, Vec<String>) {
        let lock = match self.plan.is_queued {
            true => "writers wait in a queue",
            false => "writers ask for the lock again and again",
        };
        let target = vec![
            format!("target    SQLite in this program ({}); {lock}", durability(self.plan.is_durable)),
            format!(
                "          {}: filled once, copied for the run, checked after it",
                self.target.file().display()
            ),
        ];
        ("threads", target)
    }

    fn disclose(&self) -> Map<String, Value> {
        let facts = [
            ("engine", json!(format!("SQLite {}", version()))),
            ("isolation", json!("serializable; transactions that write begin with the write lock")),
            ("durability", json!(durability(self.plan.is_durable))),
            ("write_lock", json!(if self.plan.is_queued { "queue" } else { "busy" })),
            ("cache_kib_per_connection", json!(CACHE_KIB)),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
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

    fn tier<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Tier, String>> {
        let tier = Tier {
            tier: "database".to_owned(),
            product: format!("SQLite {}", version()),
            durability: durability(self.plan.is_durable).to_owned(),
        };
        Box::pin(async move { Ok(tier) })
    }

    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillCounts, LoadError>> {
        let (target, stop) = (self.target.clone(), StopAtEnd::default());
        let stopped = stop.flag();
        Box::pin(async move {
            let filling = tokio::task::spawn_blocking(move || fill(&target, &stopped, &progress));
            let filled = filling.await;
            drop(stop);
            let failed = |why| LoadError::Fill { url: self.url.clone(), why };
            match filled.map_err(|why| failed(why.into()))? {
                Ok(filled) => Ok(filled),
                Err(why @ (SqliteError::NotOurs { .. } | SqliteError::InUse { .. })) => {
                    Err(LoadError::Refused(Refusals(vec![self.target.refusal(job.plan, &why)])))
                }
                Err(why) => Err(failed(why.into())),
            }
        })
    }

    fn load(&self, _: &LoadJob<'_>, shared: LoadState) -> Result<Box<dyn Runnable>, LoadError> {
        let OrderEntryPlan { is_durable, is_queued, busy, .. } = self.plan;
        let users = SqliteUsers {
            shared: Arc::new(shared),
            connecting: ConnectionOptions { path: self.target.copy(), is_durable, busy },
            queue: is_queued.then(|| Arc::new(FairMutex::new(()))),
        };
        Ok(runnable_threads(move || users.clone()))
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, _: &'a str, tally: Arc<Tally>) -> BoxFuture<'a, Result<Findings, String>> {
        let target = self.target.clone();
        Box::pin(async move {
            let checking = tokio::task::spawn_blocking(move || {
                target.verify(|queries| checks::check(queries, target.contents(), tally.counted()))
            });
            let checked = checking.await.map_err(|why| why.to_string())?;
            checked.map_err(|why| in_one_line(&why))
        })
    }
}

/// Fills the database, unless it is filled, and copies it for the run.
fn fill(target: &Target, stopped: &AtomicBool, progress: &OnProgress) -> Result<FillCounts, SqliteError> {
    let total = Table::ALL.into_iter().map(|table| target.contents().size.rows(table)).sum();
    let mut done = 0;
    let FillResult { reused, rows, bytes, .. } = target.prepare(|table, rows| {
        done += rows;
        progress(FillProgress { stage: table.name().to_owned(), done, total });
        !stopped.load(Ordering::Relaxed)
    })?;
    let lines = rows.into_iter().find(|(table, _)| table == Table::OrderLine.name());
    Ok(FillCounts { reused, lines: lines.map_or(0, |(_, rows)| rows), bytes })
}
