//! The seams to workloads and to engines.

use std::fmt::Debug;
use std::sync::Arc;

use barograph_database::{
    CommitGaps, Contents, Database, FillResult, Findings, LONGEST_GAP, STATISTICS, Terminal, Transacts,
    sqlite,
};
use barograph_engine::Runnable;
use barograph_model::StatisticMetric;
use barograph_model::secret::masked;
use barograph_platform::BoxFuture;
use barograph_record::{Count, Fill, Tier};
use barograph_spec::{Plan, Refusal, SettingsReader};
use barograph_workload::topology::Topology;
use barograph_workload::{Gauge, LoadError, LoadJob, OnProgress, TargetStatistics};
use serde_json::{Map, Value};

use crate::mariadb::Mariadb;
use crate::postgres::Postgres;
use crate::product::Product;
use crate::query::texts;
use crate::server::ServerEngine;
use crate::sqlite::SqliteEngine;
use crate::{DatabaseSettings, MariadbSession, PostgresSession, Query, TIER, TIERS};

/// A workload on databases: what engines need of it.
pub trait DatabaseWorkload: Sized + Send + Sync + 'static {
    /// The loaded contents of its database.
    type Contents: Contents + Clone + Debug + Send + 'static;

    /// State that all users of a load share.
    type Shared: Send + Sync + 'static;

    /// Counts of committed transactions, for the checks.
    type Tally: Send + Sync + 'static;

    /// Its users.
    type Terminal: Terminal<Shared = Self::Shared>
        + Transacts<sqlite::Connection>
        + Transacts<PostgresSession<Self::Postgres>>
        + Transacts<MariadbSession<Self::Mariadb>>;

    /// Its statements on PostgreSQL.
    type Postgres: Query;

    /// Its statements on MariaDB.
    type Mariadb: Query;

    /// Name of the workload, with which the names of its files begin.
    const NAME: &'static str;

    /// The table of its keys in plans, and its database on a deployed server.
    const SECTION: &'static str;

    /// Name of a database in examples.
    const EXAMPLE: &'static str;

    /// SQL that makes functions in each copy on PostgreSQL.
    const FUNCTIONS: &'static str = "";

    /// SQL that makes procedures in each copy on MariaDB.
    const PROCEDURES: &'static str = "";

    /// SQL of the statements of users on a server, by their numbers.
    fn statements(shared: &Self::Shared, kind: EngineKind) -> Vec<String> {
        let _ = shared;
        match kind {
            EngineKind::Postgres => texts::<Self::Postgres>(),
            EngineKind::Mariadb => texts::<Self::Mariadb>(),
            EngineKind::Sqlite => Vec::new(),
        }
    }

    /// Checks a database after a run.
    ///
    /// # Errors
    /// The database refused.
    fn check<D: Database>(
        database: &mut D,
        contents: &Self::Contents,
        tally: &Self::Tally,
    ) -> Result<Findings, D::Error>;
}

/// The database of a plan.
#[derive(Clone, Debug)]
pub struct DatabasePlan<C> {
    /// Settings of all workloads.
    pub settings: DatabaseSettings,
    /// The loaded contents.
    pub contents: C,
    /// The size as a word, for the name of a file.
    pub size: String,
}

/// A kind of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// SQLite in this program.
    Sqlite,
    /// A server of PostgreSQL.
    Postgres,
    /// A server of MariaDB.
    Mariadb,
}

impl EngineKind {
    /// The name of the product.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Sqlite => "SQLite",
            EngineKind::Postgres => "PostgreSQL",
            EngineKind::Mariadb => "MariaDB",
        }
    }

    /// The id of the shared measure that it cannot have.
    #[must_use]
    pub fn lacks(self) -> &'static str {
        match self {
            EngineKind::Sqlite => "deadlock_retries_per_s",
            EngineKind::Postgres | EngineKind::Mariadb => "lock_wait_ms",
        }
    }

    /// The statistics of a load that studies may compare. There is no server that tells of itself beside an embedded database.
    #[must_use]
    pub fn statistics(self) -> &'static [StatisticMetric] {
        if self == EngineKind::Sqlite { &STATISTICS[..1] } else { &STATISTICS }
    }

    /// The kind of a plan; `None` for an address of something else.
    fn of(plan: &Plan, settings: &DatabaseSettings) -> Option<Self> {
        match plan.target.url.as_deref() {
            Some(url) if sqlite::file_of(url).is_some() => Some(EngineKind::Sqlite),
            Some(url) if is_of::<Postgres>(url) => Some(EngineKind::Postgres),
            Some(url) if is_of::<Mariadb>(url) => Some(EngineKind::Mariadb),
            Some(_) => None,
            None => Some(match settings.database {
                "postgres" => EngineKind::Postgres,
                "mariadb" => EngineKind::Mariadb,
                _ => EngineKind::Sqlite,
            }),
        }
    }
}

/// Whether an address is of a server product.
pub(crate) fn is_of<P: Product>(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| P::SCHEMES.contains(&scheme))
}

/// The engine of a plan; `None` for an address of another kind.
pub fn engine<W: DatabaseWorkload>(
    plan: &Plan,
    database: DatabasePlan<W::Contents>,
) -> Option<Box<dyn Engine<W>>> {
    Some(match EngineKind::of(plan, &database.settings)? {
        EngineKind::Sqlite => Box::new(SqliteEngine::<W>::new(plan, database)),
        EngineKind::Postgres => Box::new(ServerEngine::<W, Postgres>::new(database)),
        EngineKind::Mariadb => Box::new(ServerEngine::<W, Mariadb>::new(database)),
    })
}

/// Refuses addresses of other kinds, and keys without effect. Returns the engine as [`engine`] does.
pub fn check<W: DatabaseWorkload>(
    plan: &Plan,
    database: DatabasePlan<W::Contents>,
    g: &mut SettingsReader,
) -> Option<Box<dyn Engine<W>>> {
    let is_embedded = database.settings.database == "sqlite";
    let DatabaseSettings { parts, is_durable, .. } = database.settings.clone();
    let engine = engine::<W>(plan, database);
    if let Some(engine) = engine.as_ref().filter(|_| plan.target.url.is_none()) {
        parts.check(g, engine.kind(), is_durable);
    }
    if let Some(engine) = &engine {
        engine.check(plan, g);
    } else if let Some(url) = &plan.target.url {
        let name = W::EXAMPLE;
        let allowed = format!(
            "a file of SQLite by its whole path, as in sqlite:///var/tmp/{name}.db, or a database of PostgreSQL, \
             as in postgres://me@127.0.0.1/{name}, or of MariaDB, as in mysql://me@127.0.0.1/{name}"
        );
        g.refuse("target.url", format!("{:?}", masked(url)), &allowed, "correct it, or leave it out");
    }
    if plan.target.url.is_some() {
        let allowed = "left out with target.url, whose address has an engine";
        g.refuse_asked("deploy.database", allowed, "leave it out, or leave target.url out");
    }
    let is_deployed = plan.target.url.is_none() && !is_embedded;
    let there = [parts.has_balancer, parts.has_pool, true, parts.standby.is_some()];
    for (tier, _) in TIERS.into_iter().zip(there).filter(|(_, is_there)| !(is_deployed && *is_there)) {
        let (allowed, remedy) = match tier {
            TIER => (
                "left out where no server is deployed",
                "leave it out, or set deploy.database to a server".to_owned(),
            ),
            tier => ("left out without such a part", format!("leave it out, or set deploy.{tier}")),
        };
        g.refuse_limits(tier, allowed, &remedy);
    }
    engine
}

/// The entry of a record for a fill. Tables without loaded rows are left out.
#[must_use]
pub fn fill_entry(filled: FillResult, stamp: String) -> Fill {
    let loaded = filled.rows.into_iter().filter(|(_, rows)| *rows > 0);
    Fill {
        rows: loaded.map(|(table, rows)| Count::new(table, rows)).collect(),
        bytes: vec![Count::new("database", filled.bytes)],
        reused: filled.reused,
        stamp,
        ..Fill::default()
    }
}

/// The gauges of a load: the longest time without a commit.
#[must_use]
pub fn gauges(gaps: &CommitGaps) -> Vec<Gauge> {
    let longest = gaps.take_longest().map(|longest| longest.as_secs_f64() * 1e3);
    longest.map(|value| Gauge { name: LONGEST_GAP.id, unit: LONGEST_GAP.unit, value }).into_iter().collect()
}

/// The database engine of a plan.
pub trait Engine<W: DatabaseWorkload>: Send + Sync {
    /// Its kind.
    fn kind(&self) -> EngineKind;

    /// The address of an embedded database; `None` for a server.
    fn target(&self) -> Option<&str> {
        None
    }

    /// Whether calls block their thread.
    fn operations_block(&self) -> bool {
        false
    }

    /// Open files of a user.
    fn files(&self) -> u64 {
        1
    }

    /// Refuses keys without effect on this engine.
    fn check(&self, plan: &Plan, given: &mut SettingsReader);

    /// Refusals that need a look at the machine.
    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let _ = plan;
        Vec::new()
    }

    /// The noun for users, and the lines about the target, for `barograph check`.
    fn explain(&self, plan: &Plan) -> (&'static str, Vec<String>);

    /// Facts for the disclosure of a run.
    fn disclose(&self) -> Map<String, Value>;

    /// The parts of a server that the run deploys.
    fn topology(&self, plan: &Plan) -> Topology {
        let _ = plan;
        Topology::empty()
    }

    /// Whether the database at `url` answers.
    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Product and durability of the database at `url`.
    fn tier<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Tier, String>>;

    /// How the server at `url`, which is there already, is asked for its statistics; `None` for an embedded database.
    fn statistics(&self, url: &str) -> Option<TargetStatistics> {
        let _ = url;
        None
    }

    /// Fills the database, unless it is filled, and makes the copy for the run.
    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillResult, LoadError>>;

    /// The users, who work on the copy.
    ///
    /// # Errors
    /// A database that does not answer.
    fn load(&self, job: &LoadJob<'_>, shared: W::Shared) -> Result<Box<dyn Runnable>, LoadError>;

    /// Checks the copy, and removes it if all is right.
    fn verify<'a>(&'a self, url: &'a str, tally: Arc<W::Tally>) -> BoxFuture<'a, Result<Findings, String>>;
}
