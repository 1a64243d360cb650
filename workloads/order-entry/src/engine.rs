//! The seam to database engines: all that differs by engine between a plan and its users.
//!
//! An engine is a folder of this crate and a line in [`of`]. The transactions are written over its statements
//! ([`crate::session`]).

use std::sync::Arc;

use barograph_database::Findings;
use barograph_engine::Runnable;
use barograph_platform::BoxFuture;
use barograph_record::{Count, Fill, Tier};
use barograph_spec::{Plan, Refusal, SettingsReader};
use barograph_workload::topology::Topology;
use barograph_workload::{LoadError, LoadJob, OnProgress};
use serde_json::{Map, Value};

use crate::generate::Generator;
use crate::mariadb::MariadbEngine;
use crate::plan::OrderEntryPlan;
use crate::postgres::PostgresEngine;
use crate::sqlite::SqliteEngine;
use crate::tables::{Size, Table};
use crate::tally::Tally;
use crate::user::LoadState;

/// The engine of a plan; `None` for an address of another kind.
pub(crate) fn of(plan: &Plan) -> Option<Box<dyn Engine>> {
    match plan.target.url.as_deref() {
        Some(url) if SqliteEngine::is_address(url) => Some(Box::new(SqliteEngine::new(plan))),
        Some(url) if PostgresEngine::is_address(url) => Some(Box::new(PostgresEngine::new(plan))),
        Some(url) if MariadbEngine::is_address(url) => Some(Box::new(MariadbEngine::new(plan))),
        Some(_) => None,
        None => Some(match OrderEntryPlan::of(plan).database {
            "postgres" => Box::new(PostgresEngine::new(plan)),
            "mariadb" => Box::new(MariadbEngine::new(plan)),
            _ => Box::new(SqliteEngine::new(plan)),
        }),
    }
}

/// The database engine of a plan.
pub(crate) trait Engine: Send + Sync {
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

    /// Ids of the measures that it cannot have.
    fn lacks(&self) -> &'static [&'static str];

    /// Bytes of a warehouse of the published size, and of the items.
    fn bytes(&self) -> (f64, f64);

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

    /// Fills the database, unless it is filled, and makes the copy for the run.
    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillCounts, LoadError>>;

    /// The users, who work on the copy.
    ///
    /// # Errors
    /// A database that does not answer.
    fn load(&self, job: &LoadJob<'_>, shared: LoadState) -> Result<Box<dyn Runnable>, LoadError>;

    /// Checks the copy, and removes it if all is right.
    fn verify<'a>(&'a self, url: &'a str, tally: Arc<Tally>) -> BoxFuture<'a, Result<Findings, String>>;
}

/// The result of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillCounts {
    /// The database was filled before.
    pub(crate) reused: bool,
    /// Rows of order lines.
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl FillCounts {
    /// The entry of the record.
    pub(crate) fn entry(self, generator: &Generator) -> Fill {
        let rows = |table: Table| match table {
            Table::OrderLine => self.lines,
            table => generator.size.rows(table),
        };
        let Size { warehouses, scale, .. } = generator.size;
        Fill {
            rows: Table::ALL.into_iter().map(|table| Count::new(table.name(), rows(table))).collect(),
            bytes: vec![Count::new("database", self.bytes)],
            reused: self.reused,
            stamp: format!("order-entry-{}-w{warehouses}-x{scale}-s{}", crate::VERSION, generator.seed),
            ..Fill::default()
        }
    }
}
