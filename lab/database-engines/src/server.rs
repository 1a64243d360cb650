//! Servers behind the seam to engines.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use barograph_database::{Contents as _, FillResult, Findings, StopAtEnd};
use barograph_engine::Runnable;
use barograph_model::secret::masked;
use barograph_model::words::in_one_line;
use barograph_platform::BoxFuture;
use barograph_record::Tier;
use barograph_spec::{Plan, Refusal, Refusals, SettingsReader, placed, there};
use barograph_workload::topology::{Topology, Value as Word};
use barograph_workload::{LoadError, LoadJob, OnProgress, TargetStatistics};
use serde_json::{Map, Value, json};

use crate::databases::{Databases, Queries};
use crate::engine::is_of;
use crate::errors::Failure;
use crate::fill::DatabaseFill;
use crate::mariadb::Mariadb;
use crate::observer::Observer;
use crate::postgres::Postgres;
use crate::product::Product;
use crate::{
    DatabasePlan, DatabaseSettings, DatabaseWorkload, Engine, EngineKind, ServerError, Standby, TIER,
    standby, topology,
};

/// Limit on the time for an answer outside of the load.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sessions of a deployed server beside those of users.
const FURTHER_SESSIONS: u32 = 20;

/// The addresses of the filled database.
struct Addresses {
    /// For sessions of users.
    users: String,
    /// Of the server itself.
    server: String,
    /// Of its standby.
    standby: Option<String>,
}

/// A database of a server.
pub(crate) struct ServerEngine<W: DatabaseWorkload, P> {
    settings: DatabaseSettings,
    contents: W::Contents,
    _product: PhantomData<P>,
}

impl<W: DatabaseWorkload, P: Product> ServerEngine<W, P> {
    pub(crate) fn new(database: DatabasePlan<W::Contents>) -> Self {
        let DatabasePlan { settings, contents, .. } = database;
        ServerEngine { settings, contents, _product: PhantomData }
    }

    /// The addresses of the filled database. Those of a deployed server name neither user nor database.
    fn addresses(&self, url: &str) -> Addresses {
        match url.split_once("://") {
            Some((scheme, places)) if !places.contains('@') => {
                let at = |place: &str| format!("{scheme}://{}@{place}/{}", P::USER, W::SECTION);
                let mut places: Vec<String> = places.split(',').map(at).collect();
                let standby = self.settings.parts.standby.and_then(|_| places.pop());
                let server = places.pop().unwrap_or_default();
                Addresses { users: places.pop().unwrap_or_else(|| server.clone()), server, standby }
            }
            _ => Addresses { users: url.to_owned(), server: url.to_owned(), standby: None },
        }
    }

    /// The server as a tier, and why its standby does not follow as asked.
    async fn state(&self, url: &str) -> Result<(Tier, Option<String>), String> {
        let (addresses, setup) = (self.addresses(url), P::setup(&self.settings));
        let asks_standby = addresses.standby.is_some();
        let asked = on_thread(move || {
            Databases::<P>::at(&addresses.users)?;
            let databases = Databases::<P>::at(&addresses.server)?;
            let state = asks_standby.then(|| standby::state(&databases)).transpose()?;
            Ok((databases.version()?, databases.durability(&setup)?, state))
        });
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        let asked = asked.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
        let (version, settings, state) = asked.map_err(|why| in_one_line(&why))?;
        let product = format!("{} {version}", P::KIND.name());
        let mut durability = named::<P>(&settings);
        let mut fault = None;
        if let Some((state, asked)) = state.zip(self.settings.parts.standby) {
            fault = standby::fault(&state, asked);
            durability = format!("{durability}, standby {state}");
        }
        Ok((Tier { tier: TIER.to_owned(), product, durability }, fault))
    }

    /// The refusal of a database or of its server.
    fn refusal(&self, job: &LoadJob<'_>, why: &ServerError) -> LoadError {
        let durability = format!("{}.durability", W::SECTION);
        let url = format!("{:?}", masked(job.url));
        let (key, value, allowed, remedy) = match why {
            ServerError::NotDurable { .. } => (
                durability.as_str(),
                "\"full\"".to_owned(),
                "\"off\" for this server".to_owned(),
                format!("set {} at the server, or {durability} = \"off\"", P::MAKE_DURABLE),
            ),
            ServerError::OtherProduct { wanted, .. } => {
                ("target.url", url, format!("a server of {wanted}"), "name another server".to_owned())
            }
            _ => (
                "target.url",
                url,
                "a database of this size and seed, an empty one, or none yet".to_owned(),
                "remove the database if nothing needs it, or name another".to_owned(),
            ),
        };
        LoadError::Refused(Refusals(vec![Refusal {
            place: job.plan.place(key).to_owned(),
            key: key.to_owned(),
            value,
            allowed: format!("{allowed}: cannot {}", in_one_line(why)),
            remedy,
        }]))
    }
}

impl<W: DatabaseWorkload, P: Product> Engine<W> for ServerEngine<W, P> {
    fn kind(&self) -> EngineKind {
        P::KIND
    }

    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let product = P::KIND.name();
        let allowed = format!("left out with {product}, where writers wait for the rows that they change");
        g.refuse_asked(&format!("{}.write_lock", W::SECTION), &allowed, "leave it out");
        let Some(url) = &plan.target.url else { return };
        let example = format!("{}://me@127.0.0.1/{}", P::SCHEMES[0], W::EXAMPLE);
        let mut refuse = |allowed: String, remedy: &str| {
            g.refuse("target.url", format!("{:?}", masked(url)), &allowed, remedy);
        };
        match P::database_of(url) {
            Err(why) => refuse(format!("an address as in {example} ({why})"), "correct it"),
            Ok(name) if name.is_empty() || P::RESERVED.contains(&&*name) || name.len() > P::LONGEST_NAME => {
                let allowed = format!(
                    "a database of its own with a name of at most {} bytes, as in {example}",
                    P::LONGEST_NAME
                );
                refuse(allowed, "name another database");
            }
            Ok(_) => {}
        }
    }

    fn explain(&self, plan: &Plan) -> (&'static str, Vec<String>) {
        let done = "its database is filled once and copied for the run, and the copy is checked after it";
        let target = match &plan.target.url {
            Some(url) => there(&masked(url), done),
            None => format!("target    {} {}", P::KIND.name(), placed(&plan.deploy)),
        };
        let commits = match self.settings.is_durable {
            true => "a commit is on the disk before it is done",
            false if plan.target.url.is_none() => "commits wait for no disk",
            false => P::NOT_DURABLE,
        };
        let mut lines =
            vec![target, format!("          {commits}; transactions are {}", self.settings.isolation)];
        lines.extend(self.settings.parts.words().map(|parts| format!("          {parts}")));
        ("sessions", lines)
    }

    fn disclose(&self) -> Map<String, Value> {
        let facts = [
            ("engine", json!(P::KIND.name())),
            ("isolation", json!(self.settings.isolation)),
            ("session_setup", json!(P::setup(&self.settings))),
            ("in_front", json!(self.settings.parts.in_front())),
            ("standby", json!(self.settings.parts.standby.map(Standby::name))),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn topology(&self, plan: &Plan) -> Topology {
        let sessions = plan.most_users().saturating_add(FURTHER_SESSIONS);
        let mut words = vec![("connections", Word::Text(sessions.to_string()))];
        if !self.settings.is_durable {
            words.push(("not_durable", Word::Text("yes".to_owned())));
        }
        let (service, scheme) = (P::SERVICE, P::SCHEMES[0]);
        let server = topology::ServerSpec { service, scheme, sessions, values: words };
        topology::of(plan, &self.settings.parts, &server)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.state(url).await?.1.map_or(Ok(()), Err) })
    }

    fn tier<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Tier, String>> {
        Box::pin(async move { Ok(self.state(url).await?.0) })
    }

    fn statistics(&self, url: &str) -> Option<TargetStatistics> {
        let url = self.addresses(url).server;
        Some(TargetStatistics {
            part: TIER,
            asked: barograph_services::find(P::SERVICE)?.statistics()?,
            open: Arc::new(move || Box::new(Observer::new::<P>(&url))),
        })
    }

    fn fill<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<FillResult, LoadError>> {
        let (url, contents) = (self.addresses(job.url).server, self.contents.clone());
        let (setup, is_durable) = (P::setup(&self.settings), self.settings.is_durable);
        let stop = StopAtEnd::default();
        let stopped = stop.flag();
        Box::pin(async move {
            let filled = on_thread(move || {
                let databases = Databases::<P>::at(&url)?;
                let settings = databases.durability(&setup)?;
                if is_durable && !P::is_durable(&settings) {
                    return Err(ServerError::NotDurable { settings: named::<P>(&settings) });
                }
                let filled = DatabaseFill::new(&databases, &contents, progress, stopped).run()?;
                P::add_functions::<W>(&databases)?;
                Ok(filled)
            });
            let filled = filled.await;
            drop(stop);
            filled.map_err(|why| match why {
                ServerError::NotOurs { .. }
                | ServerError::InUse { .. }
                | ServerError::OtherProduct { .. }
                | ServerError::NotDurable { .. } => self.refusal(job, &why),
                ServerError::Unreachable(why) => {
                    LoadError::Unreachable { url: masked(job.url).into_owned(), why }
                }
                why => LoadError::Fill { url: masked(job.url).into_owned(), why: why.into() },
            })
        })
    }

    fn load(&self, job: &LoadJob<'_>, shared: W::Shared) -> Result<Box<dyn Runnable>, LoadError> {
        let unreachable =
            |why: ServerError| LoadError::Unreachable { url: masked(job.url).into_owned(), why: why.into() };
        let databases = Databases::<P>::at(&self.addresses(job.url).users).map_err(unreachable)?;
        let target = databases.target(&databases.run_name(&self.contents));
        Ok(P::users::<W>(target, P::setup(&self.settings).into(), Arc::new(shared)))
    }

    /// The copy stays for inspection if a check fails, and on a deployed server, which ends with it: other parts may still have
    /// sessions in it.
    fn verify<'a>(&'a self, url: &'a str, tally: Arc<W::Tally>) -> BoxFuture<'a, Result<Findings, String>> {
        let (addresses, contents) = (self.addresses(url), self.contents.clone());
        let is_deployed = addresses.server != url;
        let standby = addresses.standby.zip(self.settings.parts.standby);
        let checked = on_thread(move || {
            let databases = Databases::<P>::at(&addresses.server)?;
            let name = databases.run_name(&contents);
            let mut checked = W::check(&mut Queries(&databases, name), &contents, &tally)?;
            if let Some((url, asked)) = &standby {
                let found = standby::check::<W, P>(&databases, (url, *asked), (&contents, &tally))?;
                checked.violations.extend(found.violations);
            }
            if checked.violations.is_empty() && !is_deployed && !contents.tables().is_empty() {
                databases.remove_copy::<W::Contents>()?;
            }
            Ok(checked)
        });
        Box::pin(async move { checked.await.map_err(|why| in_one_line(&why)) })
    }
}

/// The settings of durability by their names.
fn named<P: Product>(settings: &[String]) -> String {
    let named: Vec<String> =
        P::DURABILITY.iter().zip(settings).map(|(name, value)| format!("{name} {value}")).collect();
    named.join(", ")
}

/// Does work on a thread of its own, which stays behind if the future is dropped.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServerError> + Send + 'static,
) -> Result<T, ServerError> {
    let (send, done) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("database".to_owned()).spawn(move || {
        // Without a receiver the result is not wanted any more.
        let _ = send.send(work());
    });
    spawned.map_err(ServerError::Loop)?;
    done.await.unwrap_or(Err(ServerError::Thread))
}

/// Runs statements in the database of an address, and calls `row` with the texts of each row. Blocks.
///
/// # Errors
/// A server that does not answer, or that refuses.
pub fn rows(url: &str, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), ServerError> {
    fn asked<P: Product>(
        url: &str,
        sql: &str,
        row: &mut dyn FnMut(&[Option<&str>]),
    ) -> Result<(), ServerError> {
        let target = P::resolve(url).map_err(ServerError::Unreachable)?;
        let name = P::database_of(url).unwrap_or_default();
        let failed = |failure: Failure| Databases::<P>::failed(("ask", &name), failure);
        P::ask(&target, sql, row).map_err(failed)
    }
    if is_of::<Postgres>(url) { asked::<Postgres>(url, sql, row) } else { asked::<Mariadb>(url, sql, row) }
}
