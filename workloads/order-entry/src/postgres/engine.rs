//! PostgreSQL behind the seam to engines.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use barograph_database::{Findings, StopAtEnd};
use barograph_engine::{Runnable, runnable};
use barograph_model::secret::masked;
use barograph_model::words::in_one_line;
use barograph_platform::BoxFuture;
use barograph_postgres::Address;
use barograph_record::Tier;
use barograph_spec::{Plan, Refusal, Refusals, SettingsReader, placed, there};
use barograph_workload::topology::{Topology, Value as Word};
use barograph_workload::{LoadError, LoadJob, OnProgress};
use serde_json::{Map, Value, json};

use super::PostgresError;
use super::admin::{in_session, on_thread, row};
use super::check::Queries;
use super::databases::Databases;
use super::fill::DatabaseFill;
use super::users::PostgresUsers;
use crate::checks;
use crate::engine::{Engine, FillCounts};
use crate::generate::Generator;
use crate::plan::{Form, OrderEntryPlan, generator};
use crate::tally::Tally;
use crate::topology;
use crate::user::LoadState;

/// Databases that a server needs for itself.
const RESERVED: [&str; 3] = ["postgres", "template0", "template1"];

/// Longest name of a database: the server cuts at 63 bytes, and the copy has a longer name.
const LONGEST_NAME: usize = 59;

/// Limit on the time for an answer outside of the load.
const PATIENCE: Duration = Duration::from_secs(10);

/// The settings of a server that decide what a commit survives, and their values where it survives all.
const DURABILITY: &str = "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')";

/// Sessions of a deployed server beside those of users.
const FURTHER_SESSIONS: u32 = 20;

/// A database of a server.
pub(crate) struct PostgresEngine {
    plan: OrderEntryPlan,
    generator: Generator,
}

impl PostgresEngine {
    /// Whether this is the address of a server.
    pub(crate) fn is_address(url: &str) -> bool {
        url.starts_with("postgres://") || url.starts_with("postgresql://")
    }

    pub(crate) fn new(plan: &Plan) -> Self {
        PostgresEngine { plan: OrderEntryPlan::of(plan).clone(), generator: generator(plan) }
    }

    /// Options of the sessions of users.
    fn options(&self) -> String {
        let OrderEntryPlan { is_durable, busy, isolation, .. } = &self.plan;
        let commit = if *is_durable { "on" } else { "off" };
        // A blank in a value has a backslash.
        let isolation = isolation.replace('-', "\\ ");
        format!(
            "-c synchronous_commit={commit} -c lock_timeout={} -c default_transaction_isolation={isolation}",
            busy.as_millis()
        )
    }

    /// The refusal of a database or of its server.
    fn refusal(&self, job: &LoadJob<'_>, why: &PostgresError) -> LoadError {
        let (key, value, allowed, remedy) = match why {
            PostgresError::NotDurable { .. } => (
                "order_entry.durability",
                "\"full\"".to_owned(),
                "\"off\" for this server",
                "turn fsync on at the server, or set order_entry.durability = \"off\"",
            ),
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
        Some((scheme, place)) if !place.contains('@') => format!("{scheme}://postgres@{place}/order_entry"),
        _ => url.to_owned(),
    }
}

/// The databases at an address. Blocks.
fn databases(url: &str) -> Result<Databases, PostgresError> {
    Databases::at(Address::parse(url).map_err(|why| PostgresError::Unreachable(why.into()))?)
}

impl Engine for PostgresEngine {
    fn lacks(&self) -> &'static [&'static str] {
        &["lock_wait_ms"]
    }

    fn bytes(&self) -> (f64, f64) {
        (100e6, 14e6)
    }

    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let allowed = "left out with PostgreSQL, where writers wait for the rows that they change";
        g.refuse_asked("order_entry.write_lock", allowed, "leave it out");
        let Some(url) = &plan.target.url else { return };
        let address = match Address::parse(url) {
            Ok(address) => address,
            Err(why) => {
                let allowed = format!("an address as in postgres://me@127.0.0.1/orders ({why})");
                return g.refuse("target.url", format!("{:?}", masked(url)), &allowed, "correct it");
            }
        };
        let name = address.database;
        if RESERVED.contains(&name.as_str()) || name.len() > LONGEST_NAME {
            let allowed = format!(
                "a database of its own with a name of at most {LONGEST_NAME} bytes, as in postgres://me@127.0.0.1/orders"
            );
            g.refuse("target.url", format!("{:?}", masked(url)), &allowed, "name another database");
        }
    }

    fn explain(&self, plan: &Plan) -> (&'static str, Vec<String>) {
        let done = "its database is filled once and copied for the run, and the copy is checked after it";
        let target = match &plan.target.url {
            Some(url) => there(&masked(url), done),
            None => format!("target    PostgreSQL {}", placed(&plan.deploy)),
        };
        let commits = match self.plan.is_durable {
            true => "a commit is on the disk before it is done",
            false => "commits wait for no disk",
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
            ("engine", json!("PostgreSQL")),
            ("isolation", json!(self.plan.isolation)),
            ("session_options", json!(self.options())),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn topology(&self, plan: &Plan) -> Topology {
        let sessions = plan.most_users().saturating_add(FURTHER_SESSIONS);
        let mut words = vec![("connections", Word::Text(sessions.to_string()))];
        if !self.plan.is_durable {
            words.push(("not_durable", Word::Text("yes".to_owned())));
        }
        topology::of(plan, ("postgres", "postgres"), words)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.tier(url).await.map(drop) })
    }

    fn tier<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Tier, String>> {
        let (url, options) = (address(url), self.options());
        let asked = on_thread(move || {
            in_session(&databases(&url)?.maintenance(&options), "ask", async |session| {
                let version = session.setting("server_version").unwrap_or("of an unknown version").to_owned();
                Ok((version, row(session, DURABILITY).await?.unwrap_or_default()))
            })
        });
        Box::pin(async move {
            let asked = tokio::time::timeout(PATIENCE, asked).await;
            let asked = asked.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
            let (version, settings) = asked.map_err(|why| in_one_line(&why))?;
            Ok(Tier {
                tier: "database".to_owned(),
                product: format!("PostgreSQL {version}"),
                durability: named(&settings),
            })
        })
    }

    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillCounts, LoadError>> {
        let (url, generator, options) = (address(job.url), self.generator, self.options());
        let OrderEntryPlan { is_durable, form, .. } = self.plan;
        let stop = StopAtEnd::default();
        let stopped = stop.flag();
        Box::pin(async move {
            let filled = on_thread(move || {
                let databases = databases(&url)?;
                if is_durable {
                    durable(&databases, &options)?;
                }
                let done = AtomicU64::new(0);
                let filled =
                    DatabaseFill { databases: databases.clone(), generator, progress, stopped, done }
                        .run()?;
                if form == Form::Stored {
                    databases.add_functions()?;
                }
                Ok(filled)
            });
            let filled = filled.await;
            drop(stop);
            filled.map_err(|why| match why {
                PostgresError::NotOurs { .. }
                | PostgresError::InUse { .. }
                | PostgresError::NotDurable { .. } => self.refusal(job, &why),
                PostgresError::Unreachable(why) => {
                    LoadError::Unreachable { url: masked(job.url).into_owned(), why }
                }
                why => LoadError::Fill { url: masked(job.url).into_owned(), why: why.into() },
            })
        })
    }

    fn load(&self, job: &LoadJob<'_>, shared: LoadState) -> Result<Box<dyn Runnable>, LoadError> {
        let found = databases(&address(job.url));
        let unreachable = |why: PostgresError| LoadError::Unreachable {
            url: masked(job.url).into_owned(),
            why: why.into(),
        };
        let target = found.map_err(unreachable)?.copy(&self.options());
        let shared = Arc::new(shared);
        let form = self.plan.form;
        Ok(runnable(move || PostgresUsers::new(&target, form, &shared)))
    }

    /// The copy stays for inspection if a check fails.
    fn verify<'a>(&'a self, url: &'a str, tally: Arc<Tally>) -> BoxFuture<'a, Result<Findings, String>> {
        let (url, generator) = (address(url), self.generator);
        let checked = on_thread(move || {
            let databases = databases(&url)?;
            let mut queries = Queries::open(&databases.copy(""))?;
            let checked = checks::check(&mut queries, &generator, tally.counted())?;
            drop(queries);
            if checked.violations.is_empty() {
                databases.remove_copy()?;
            }
            Ok(checked)
        });
        Box::pin(async move { checked.await.map_err(|why| in_one_line(&why)) })
    }
}

/// The settings of durability by their names.
fn named(settings: &[String]) -> String {
    let names = ["fsync", "full_page_writes", "synchronous_commit"];
    let named: Vec<String> =
        names.iter().zip(settings).map(|(name, value)| format!("{name} {value}")).collect();
    named.join(", ")
}

/// Refuses a server whose commits may be lost.
fn durable(databases: &Databases, options: &str) -> Result<(), PostgresError> {
    let settings = in_session(&databases.maintenance(options), "ask", async |session| {
        Ok(row(session, DURABILITY).await?.unwrap_or_default())
    })?;
    match settings.iter().any(|setting| setting == "off") {
        true => Err(PostgresError::NotDurable { settings: named(&settings) }),
        false => Ok(()),
    }
}
