//! MariaDB behind the seam to engines.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use barograph_database::{Findings, StopAtEnd};
use barograph_engine::{Runnable, runnable};
use barograph_model::secret::masked;
use barograph_model::words::in_one_line;
use barograph_mysql::Address;
use barograph_platform::BoxFuture;
use barograph_record::Tier;
use barograph_spec::{Plan, Refusal, Refusals, SettingsReader, placed, there};
use barograph_workload::topology::{Topology, Value as Word};
use barograph_workload::{LoadError, LoadJob, OnProgress};
use serde_json::{Map, Value, json};

use super::MariadbError;
use super::admin::{in_session, on_thread, row};
use super::check::Queries;
use super::databases::Databases;
use super::fill::DatabaseFill;
use super::users::MariadbUsers;
use crate::checks;
use crate::engine::{Engine, FillCounts};
use crate::generate::Generator;
use crate::plan::{OrderEntryPlan, generator};
use crate::tally::Tally;
use crate::topology;
use crate::user::LoadState;

/// Databases that a server needs for itself.
const RESERVED: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];

/// Longest name of a database: the server takes 64 characters, and the copy has a longer name.
const LONGEST_NAME: usize = 60;

/// Limit on the time for an answer outside of the load.
const PATIENCE: Duration = Duration::from_secs(10);

/// The settings of a server that decide what a commit survives. They are the server's: no session has its own.
const DURABILITY: [&str; 4] =
    ["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin", "sync_binlog"];

/// Sessions of a deployed server beside those of users.
const FURTHER_SESSIONS: u32 = 20;

/// A database of a server.
pub(crate) struct MariadbEngine {
    plan: OrderEntryPlan,
    generator: Generator,
}

impl MariadbEngine {
    /// Whether this is the address of a server.
    pub(crate) fn is_address(url: &str) -> bool {
        url.starts_with("mysql://") || url.starts_with("mariadb://")
    }

    pub(crate) fn new(plan: &Plan) -> Self {
        MariadbEngine { plan: OrderEntryPlan::of(plan).clone(), generator: generator(plan) }
    }

    /// SQL with which the sessions of users begin. A transaction begins with its first statement, which saves a call; waits for
    /// locks have whole seconds.
    fn setup(&self) -> Arc<str> {
        let OrderEntryPlan { busy, isolation, .. } = &self.plan;
        let seconds = busy.as_millis().div_ceil(1_000);
        let isolation = isolation.replace('-', " ").to_uppercase();
        let variables = format!("SET autocommit = 0, innodb_lock_wait_timeout = {seconds}");
        format!("{variables}; SET SESSION TRANSACTION ISOLATION LEVEL {isolation}").into()
    }

    /// The refusal of a database or of its server.
    fn refusal(&self, job: &LoadJob<'_>, why: &MariadbError) -> LoadError {
        let (key, value, allowed, remedy) = match why {
            MariadbError::NotDurable { .. } => (
                "order_entry.durability",
                "\"full\"".to_owned(),
                "\"off\" for this server",
                "set innodb_flush_log_at_trx_commit = 1 and sync_binlog = 1 at the server, or order_entry.durability = \"off\"",
            ),
            MariadbError::OtherProduct { .. } => {
                ("target.url", format!("{:?}", masked(job.url)), "a server of MariaDB", "name another server")
            }
            _ => (
                "target.url",
                format!("{:?}", masked(job.url)),
                "a database of this size and seed, an empty one, or none yet",
                "remove the database if nothing needs it, or name another",
            ),
        };
        LoadError::Refused(Refusals(vec![Refusal {
            place: job.plan.place(key).to_owned(),
            key: key.to_owned(),
            value,
            allowed: format!("{allowed}: cannot {}", in_one_line(why)),
            remedy: remedy.to_owned(),
        }]))
    }
}

/// The address of the filled database. That of a deployed server names neither user nor database.
fn address(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, place)) if !place.contains('@') => format!("{scheme}://auction@{place}/order_entry"),
        _ => url.to_owned(),
    }
}

/// The databases at an address. Blocks.
fn databases(url: &str) -> Result<Databases, MariadbError> {
    Databases::at(Address::parse(url).map_err(|why| MariadbError::Unreachable(why.into()))?)
}

impl Engine for MariadbEngine {
    fn lacks(&self) -> &'static [&'static str] {
        &["lock_wait_ms"]
    }

    fn bytes(&self) -> (f64, f64) {
        (93e6, 10e6)
    }

    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let allowed = "left out with MariaDB, where writers wait for the rows that they change";
        g.refuse_asked("order_entry.write_lock", allowed, "leave it out");
        let allowed = "left out with MariaDB, whose functions are not written";
        g.refuse_asked("order_entry.form", allowed, "leave it out");
        let Some(url) = &plan.target.url else { return };
        let address = match Address::parse(url) {
            Ok(address) => address,
            Err(why) => {
                let allowed = format!("an address as in mysql://me@127.0.0.1/orders ({why})");
                return g.refuse("target.url", format!("{:?}", masked(url)), &allowed, "correct it");
            }
        };
        let name = address.database;
        if name.is_empty() || RESERVED.contains(&name.as_str()) || name.chars().count() > LONGEST_NAME {
            let allowed = format!(
                "a database of its own with a name of at most {LONGEST_NAME} characters, as in mysql://me@127.0.0.1/orders"
            );
            g.refuse("target.url", format!("{:?}", masked(url)), &allowed, "name another database");
        }
    }

    fn explain(&self, plan: &Plan) -> (&'static str, Vec<String>) {
        let done = "its database is filled once and copied for the run, and the copy is checked after it";
        let target = match &plan.target.url {
            Some(url) => there(&masked(url), done),
            None => format!("target    MariaDB {}", placed(&plan.deploy)),
        };
        let commits = match self.plan.is_durable {
            true => "a commit is on the disk before it is done",
            false if plan.target.url.is_none() => "commits wait for no disk",
            false => "a commit survives what the settings of the server make it survive",
        };
        let lines = [
            target,
            format!("          {commits}; transactions are {}", self.plan.isolation),
            format!("          {}", self.plan.form.words()),
        ];
        ("sessions", lines.into())
    }

    fn disclose(&self) -> Map<String, Value> {
        let facts = [
            ("engine", json!("MariaDB")),
            ("isolation", json!(self.plan.isolation)),
            ("session_setup", json!(*self.setup())),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn topology(&self, plan: &Plan) -> Topology {
        let sessions = plan.most_users().saturating_add(FURTHER_SESSIONS);
        let mut words = vec![("connections", Word::Text(sessions.to_string()))];
        if !self.plan.is_durable {
            words.push(("not_durable", Word::Text("yes".to_owned())));
        }
        topology::of(plan, ("mariadb", "mysql"), words)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.tier(url).await.map(drop) })
    }

    fn tier<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Tier, String>> {
        let url = address(url);
        let asked = on_thread(move || {
            let databases = databases(&url)?;
            Ok((databases.version()?, durability(&databases)?))
        });
        Box::pin(async move {
            let asked = tokio::time::timeout(PATIENCE, asked).await;
            let asked = asked.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
            let (version, settings) = asked.map_err(|why| in_one_line(&why))?;
            let tier = "database".to_owned();
            Ok(Tier { tier, product: format!("MariaDB {version}"), durability: named(&settings) })
        })
    }

    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillCounts, LoadError>> {
        let (url, generator, is_durable) = (address(job.url), self.generator, self.plan.is_durable);
        let stop = StopAtEnd::default();
        let stopped = stop.flag();
        Box::pin(async move {
            let filled = on_thread(move || {
                let databases = databases(&url)?;
                if is_durable {
                    durable(&databases)?;
                }
                let done = AtomicU64::new(0);
                DatabaseFill { databases, generator, progress, stopped, done }.run()
            });
            let filled = filled.await;
            drop(stop);
            filled.map_err(|why| match why {
                MariadbError::NotOurs { .. }
                | MariadbError::InUse { .. }
                | MariadbError::OtherProduct { .. }
                | MariadbError::NotDurable { .. } => self.refusal(job, &why),
                MariadbError::Unreachable(why) => {
                    LoadError::Unreachable { url: masked(job.url).into_owned(), why }
                }
                why => LoadError::Fill { url: masked(job.url).into_owned(), why: why.into() },
            })
        })
    }

    fn load(&self, job: &LoadJob<'_>, shared: LoadState) -> Result<Box<dyn Runnable>, LoadError> {
        let found = databases(&address(job.url));
        let unreachable =
            |why: MariadbError| LoadError::Unreachable { url: masked(job.url).into_owned(), why: why.into() };
        let target = found.map_err(unreachable)?.copy();
        let (setup, shared) = (self.setup(), Arc::new(shared));
        Ok(runnable(move || MariadbUsers::new(&target, &setup, &shared)))
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, url: &'a str, tally: Arc<Tally>) -> BoxFuture<'a, Result<Findings, String>> {
        let (url, generator) = (address(url), self.generator);
        let checked = on_thread(move || {
            let databases = databases(&url)?;
            let mut queries = Queries(databases.copy());
            let checked = checks::check(&mut queries, &generator, tally.counted())?;
            if checked.violations.is_empty() {
                databases.remove_copy()?;
            }
            Ok(checked)
        });
        Box::pin(async move { checked.await.map_err(|why| in_one_line(&why)) })
    }
}

/// The values of the settings of durability.
fn durability(databases: &Databases) -> Result<Vec<String>, MariadbError> {
    let sql = format!("SELECT {}", DURABILITY.map(|name| format!("@@{name}")).join(", "));
    let what = ("ask", databases.name());
    in_session(&databases.server(), what, async |session| Ok(row(session, &sql).await?.unwrap_or_default()))
}

/// The settings of durability by their names.
fn named(settings: &[String]) -> String {
    let named: Vec<String> =
        DURABILITY.iter().zip(settings).map(|(name, value)| format!("{name} {value}")).collect();
    named.join(", ")
}

/// Refuses a server whose commits may be lost. A commit in the binary log is on the disk only with it.
fn durable(databases: &Databases) -> Result<(), MariadbError> {
    let settings = durability(databases)?;
    let is_durable = match &settings.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [flush, doublewrite, log, sync] => {
            *flush == "1" && *doublewrite != "0" && (*log == "0" || *sync == "1")
        }
        _ => false,
    };
    if is_durable { Ok(()) } else { Err(MariadbError::NotDurable { settings: named(&settings) }) }
}
