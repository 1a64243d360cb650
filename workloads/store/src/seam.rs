//! The workload behind the seam.

use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::measures::{LOCK_WAIT_MS, STATEMENT_RATE, STATEMENTS_EACH};
use barograph_database::sqlite::{self, Files};
use barograph_database::{Access, Database, Findings};
use barograph_database_engines::{
    DatabaseWorkload, Engine, EngineKind, Rules, SessionUsers, engine, fill_entry, gauges,
};
use barograph_engine::{Runnable, runnable};
use barograph_http::Policy;
use barograph_model::{
    Behaviour, Behaviours, ChooserId, MeasureSpec, Nanos, NextOp, OpSpec, Profile, QosRule, Rule, Share,
    StatisticMetric,
};
use barograph_platform::BoxFuture;
use barograph_record::{Fill, Tier};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, Gauge, LoadCommand, LoadError, LoadJob, OnProgress, Program,
    Reasons, TargetStatistics, Verb, VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::checks;
use crate::engines::{mariadb, postgres};
use crate::generate::Generator;
use crate::input::Inputs;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{StorePlan, database};
use crate::tables::Size;
use crate::tally::Tally;
use crate::user::{LoadState, Operation, Visitor};
use crate::web::{self, Front, WebSessions};

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

/// The limits of an operation.
fn limits(operation: Operation) -> [Nanos; 2] {
    match operation.access() {
        Access::Read => READ_LIMITS,
        Access::Write => WRITE_LIMITS,
    }
}

/// Makes the workload of plans.
pub struct Store;

impl WorkloadFactory for Store {
    fn about(&self) -> &'static str {
        "visitors of a web store who search and buy, on a database (derived from DVD Store)"
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        (verb == Verb::Serve).then_some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(StoreWorkload::new(plan)))
    }
}

/// The workload as engines need it.
pub(crate) enum StoreDatabase {}

impl DatabaseWorkload for StoreDatabase {
    type Contents = Generator;
    type Shared = LoadState;
    type Tally = Tally;
    type Terminal = Visitor;
    type Postgres = postgres::Sql;
    type Mariadb = mariadb::Sql;

    const NAME: &'static str = NAME;
    const SECTION: &'static str = "store";
    const EXAMPLE: &'static str = "store";

    fn check<D: Database>(
        database: &mut D,
        contents: &Generator,
        tally: &Tally,
    ) -> Result<Findings, D::Error> {
        checks::check(database, contents, tally.counted())
    }
}

/// The workload of a plan.
struct StoreWorkload {
    plan: StorePlan,
    generator: Generator,
    engine: Box<dyn Engine<StoreDatabase>>,
    /// The SQLite file of a run through the web tier.
    file: Option<String>,
    measures: Vec<MeasureSpec>,
    tally: Arc<Tally>,
    reasons: Arc<Mutex<Reasons>>,
}

impl StoreWorkload {
    fn new(plan: &Plan) -> Self {
        let database = database(plan);
        let generator = database.contents;
        let own = StorePlan::of(plan);
        // The target of a driver that is a unit is the web tier: its database is the one that the plan deploys.
        let mut of_database = plan.clone();
        of_database.target.url.take_if(|_| own.web.is_some());
        let engine = engine(&of_database, database).expect("other targets are refused when the plan is read");
        // Clients do not see how long a node waits for a lock, nor its statements.
        let unseen = [LOCK_WAIT_MS.id, STATEMENT_RATE.id, STATEMENTS_EACH.id];
        let is_unseen = |id| own.web.is_some() && unseen.contains(&id);
        let has = |measure: &MeasureSpec| engine.kind().lacks() != measure.id && !is_unseen(measure.id);
        let copy = |url| sqlite::file_of(url).map(|file| sqlite::address(&Files::<Generator>::copy(file)));
        StoreWorkload {
            plan: own.clone(),
            file: engine.target().and_then(copy),
            generator,
            measures: MEASURES.into_iter().filter(has).collect(),
            engine,
            tally: Arc::default(),
            reasons: Reasons::shared(),
        }
    }
}

impl StoreWorkload {
    /// The addresses of a load through the web tier.
    fn front(&self, url: &str) -> Option<Front> {
        self.plan.web.map(|web| Front::of(url, web.fronts()))
    }

    /// The address of the database of a load.
    fn database_of(&self, url: &str) -> String {
        match (self.front(url), self.engine.kind()) {
            (None, _) => url.to_owned(),
            (Some(_), EngineKind::Sqlite) => self.engine.target().unwrap_or_default().to_owned(),
            (Some(front), EngineKind::Postgres) => format!("postgres://{}", front.behind),
            (Some(front), EngineKind::Mariadb) => format!("mysql://{}", front.behind),
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
        &self.measures
    }

    fn statistics(&self) -> &'static [StatisticMetric] {
        self.engine.kind().statistics()
    }

    fn session_op(&self) -> Option<&str> {
        Some(Operation::SPECS[Operation::Purchase as usize].name)
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let done = Operation::ALL.into_iter().filter(|operation| self.plan.share(*operation) > Share::ZERO);
        let own = self.plan.rules;
        let rule = |operation: Operation| {
            let usual = Rules {
                quantile: Share::percent(90.0),
                limit: Some(limits(operation)[0]),
                failures: FAILURES,
            };
            let Rules { quantile, limit, failures } = own.unwrap_or(usual);
            // In a short load visits in progress move the shares.
            let mix = if own.is_some() { Share::ZERO } else { self.plan.share(operation) };
            let mix_tolerance = if own.is_some() { Share::ZERO } else { MIX_TOLERANCE };
            QosRule { op: operation.op(), quantile, limit, judged: true, mix, mix_tolerance, failures }
        };
        let rules: Vec<QosRule> = done.clone().map(rule).collect();
        let mut profile = Profile::usual(NAME, &rules, None);
        profile.rules.extend(
            done.filter(|_| own.is_none())
                .map(|operation| Rule::response(operation.op(), Share::percent(99.0), limits(operation)[1])),
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
        self.engine.target().filter(|_| self.plan.web.is_none())
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * if self.plan.web.is_none() { self.engine.files() } else { 1 }
    }

    fn operations_block(&self) -> bool {
        self.engine.operations_block() && self.plan.web.is_none()
    }

    fn notice(&self) -> Option<&'static str> {
        Some(NOTICE)
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.engine.refusals(plan)
    }

    fn disclose(&self) -> Map<String, Value> {
        let Size { megabytes, customers, products, orders } = self.generator.size;
        let StorePlan { habits, think, database, .. } = &self.plan;
        let facts = [
            ("notice", json!(NOTICE)),
            ("form", json!("statements: a call for each")),
            ("access", json!(if self.plan.web.is_none() { "direct" } else { "web" })),
            ("search", json!("full text of the engine: both words, whole, by number of the product")),
            ("busy_ms", json!(database.busy.as_millis() as u64)),
            ("megabytes", json!(megabytes)),
            ("customers", json!(customers)),
            ("products", json!(products)),
            ("orders", json!(orders)),
            ("new_customers", json!(habits.new_customers.get())),
            ("searches", json!(habits.searches)),
            ("search_rows", json!(habits.search_rows)),
            ("title_hits", json!(habits.title_hits.get())),
            ("lines", json!(habits.lines)),
            ("shortages", json!(habits.shortages.get())),
            ("skew", json!(habits.skew)),
            ("think_s", json!(think.as_secs_f64())),
        ];
        let mut section: Map<String, Value> =
            facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect();
        section.append(&mut self.engine.disclose());
        Map::from_iter([("store".to_owned(), section.into())])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let Generator { size, seed, .. } = self.generator;
        let stamp = format!("{NAME}-{}-{}mb-s{seed}", crate::VERSION, size.megabytes);
        Some(Box::pin(async move {
            let url = self.database_of(job.url);
            let job = LoadJob { url: &url, ..*job };
            Ok(fill_entry(self.engine.fill(&job, progress).await?, stamp))
        }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let shared = LoadState {
            inputs: Inputs::new(self.generator, self.plan.habits),
            tally: Arc::clone(&self.tally),
            reasons: Arc::clone(&self.reasons),
        };
        let Some(front) = self.front(job.url) else { return self.engine.load(job, shared) };
        let policy = match job.plan.driver.connections {
            Connections::Close => Policy::New,
            _ => Policy::PerUser(1),
        };
        let unreachable = |why| LoadError::Unreachable { url: job.url.to_owned(), why };
        let (targets, shared) = (front.targets(policy).map_err(unreachable)?, Arc::new(shared));
        Ok(runnable(move || SessionUsers::<_, Visitor>::new(WebSessions::new(&targets), &shared)))
    }

    fn gauges(&self) -> Vec<Gauge> {
        gauges(&self.tally.gaps)
    }

    fn counts(&self) -> Vec<i64> {
        self.tally.numbers()
    }

    fn add_counts(&self, counts: &[i64]) {
        self.tally.add_numbers(counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&Operation::SPECS)
    }
}

impl Application for StoreWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        let database = self.engine.topology(plan);
        match self.plan.web {
            None => database,
            Some(web) => web::topology(plan, web, database, (self.engine.kind(), self.file.as_deref())),
        }
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let Some(front) = self.front(url) else { return self.engine.answers(url) };
        Box::pin(async move {
            // A SQLite file is filled later.
            if self.engine.kind() != EngineKind::Sqlite {
                self.engine.answers(&self.database_of(url)).await?;
            }
            web::answer(front).await
        })
    }

    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move { Ok(vec![self.engine.tier(&self.database_of(url)).await?]) })
    }

    fn statistics(&self, url: &str) -> Option<TargetStatistics> {
        self.engine.statistics(&self.database_of(url))
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        Some(Box::pin(async move {
            let url = self.database_of(url);
            let findings = self.engine.verify(&url, Arc::clone(&self.tally)).await?.violations;
            Ok(VerifyResult { ok: findings.is_empty(), findings })
        }))
    }
}

/// The address of the database behind the web tier of a plan.
#[cfg(test)]
pub(crate) fn database_behind(plan: &Plan, url: &str) -> String {
    StoreWorkload::new(plan).database_of(url)
}
