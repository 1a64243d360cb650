//! SQLite behind the seam to engines.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_database::sqlite::{
    CACHE_KIB, ConnectionOptions, SqliteError, Target, Users, address, durability, file_of, version,
};
use barograph_database::{Contents, FillResult, Findings, StopAtEnd, Table};
use barograph_engine::{Runnable, runnable_threads};
use barograph_model::words::in_one_line;
use barograph_platform::BoxFuture;
use barograph_record::Tier;
use barograph_spec::{Plan, Refusal, Refusals, SettingsReader};
use barograph_workload::{FillProgress, LoadError, LoadJob, OnProgress};
use parking_lot::FairMutex;
use serde_json::{Map, Value, json};

use crate::{DatabasePlan, DatabaseSettings, DatabaseWorkload, Engine, EngineKind, TIER};

/// Open files of a user: the database, its log and the index of the log.
const FILES: u64 = 3;

/// The database file of a plan.
pub(crate) struct SqliteEngine<W: DatabaseWorkload> {
    settings: DatabaseSettings,
    url: String,
    target: Target<W::Contents>,
}

impl<W: DatabaseWorkload> SqliteEngine<W> {
    pub(crate) fn new(plan: &Plan, database: DatabasePlan<W::Contents>) -> Self {
        let DatabasePlan { settings, contents, size } = database;
        let file = file::<W>(plan, &size);
        SqliteEngine { settings, url: address(&file), target: Target::new(file, contents) }
    }
}

/// The database file of a plan.
fn file<W: DatabaseWorkload>(plan: &Plan, size: &str) -> PathBuf {
    match plan.target.url.as_deref().and_then(file_of) {
        Some(file) => file.to_owned(),
        None => {
            let load = if plan.load.is_empty() { String::new() } else { format!("-{}", plan.load) };
            let path = plan.data.dir.join(format!("{}{load}-{size}-s{}.db", W::NAME, plan.seed));
            std::path::absolute(&path).unwrap_or(path)
        }
    }
}

impl<W: DatabaseWorkload> Engine<W> for SqliteEngine<W> {
    fn kind(&self) -> EngineKind {
        EngineKind::Sqlite
    }

    fn target(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn operations_block(&self) -> bool {
        true
    }

    fn files(&self) -> u64 {
        FILES
    }

    fn check(&self, _: &Plan, g: &mut SettingsReader) {
        let key = format!("{}.isolation", W::SECTION);
        g.refuse_asked(&key, "left out with SQLite, which is serializable", "leave it out");
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.target.refusals(plan)
    }

    fn explain(&self, _: &Plan) -> (&'static str, Vec<String>) {
        let lock = match self.settings.is_queued {
            true => "writers wait in a queue",
            false => "writers ask for the lock again and again",
        };
        let target = vec![
            format!("target    SQLite in this program ({}); {lock}", durability(self.settings.is_durable)),
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
            ("durability", json!(durability(self.settings.is_durable))),
            ("write_lock", json!(if self.settings.is_queued { "queue" } else { "busy" })),
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
            tier: TIER.to_owned(),
            product: format!("SQLite {}", version()),
            durability: durability(self.settings.is_durable).to_owned(),
        };
        Box::pin(async move { Ok(tier) })
    }

    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillResult, LoadError>> {
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

    fn load(&self, _: &LoadJob<'_>, shared: W::Shared) -> Result<Box<dyn Runnable>, LoadError> {
        let DatabaseSettings { is_durable, is_queued, busy, .. } = self.settings;
        let users = Users::<W::Terminal> {
            shared: Arc::new(shared),
            connecting: ConnectionOptions { path: self.target.copy(), is_durable, busy },
            queue: is_queued.then(|| Arc::new(FairMutex::new(()))),
        };
        Ok(runnable_threads(move || users.clone()))
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, _: &'a str, tally: Arc<W::Tally>) -> BoxFuture<'a, Result<Findings, String>> {
        let target = self.target.clone();
        Box::pin(async move {
            let checking = tokio::task::spawn_blocking(move || {
                target.verify(|queries| W::check(queries, target.contents(), &tally))
            });
            let checked = checking.await.map_err(|why| why.to_string())?;
            checked.map_err(|why| in_one_line(&why))
        })
    }
}

/// Fills the database, unless it is filled, and copies it for the run.
fn fill<C: Contents>(
    target: &Target<C>,
    stopped: &AtomicBool,
    progress: &OnProgress,
) -> Result<FillResult, SqliteError> {
    let contents = target.contents();
    let total = contents.tables().iter().map(|table| contents.expected_rows(*table)).sum();
    let mut done = 0;
    target.prepare(|table, rows| {
        done += rows;
        progress(FillProgress { stage: table.spec().name.to_owned(), done, total });
        !stopped.load(Ordering::Relaxed)
    })
}
