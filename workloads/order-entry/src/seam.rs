//! The workload behind the seam.

use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::{Database, Findings};
use barograph_database_engines::{DatabaseWorkload, Engine, Rules, engine, fill_entry, gauges};
use barograph_engine::Runnable;
use barograph_model::{
    Behaviour, Behaviours, Bound, ChooserId, MeasureSpec, Nanos, NextOp, OpSpec, Profile, QosRule, Rule,
    Share, Subject,
};
use barograph_platform::BoxFuture;
use barograph_record::{Fill, Tier};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, Gauge, LoadCommand, LoadError, LoadJob, OnProgress, Reasons,
    VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::draw::Constants;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{OrderEntryPlan, database};
use crate::tables::Size;
use crate::tally::Tally;
use crate::user::{LoadState, Terminal, Transaction};
use crate::{checks, mariadb, postgres};

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

/// Makes the workload of plans.
pub struct OrderEntry;

impl WorkloadFactory for OrderEntry {
    fn about(&self) -> &'static str {
        "orders, payments and deliveries of a wholesale supplier on a database (derived from TPC-C)"
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(OrderEntryWorkload::new(plan)))
    }
}

/// The workload as engines need it.
pub(crate) enum OrderDatabase {}

impl DatabaseWorkload for OrderDatabase {
    type Contents = Generator;
    type Shared = LoadState;
    type Tally = Tally;
    type Terminal = Terminal;
    type Postgres = postgres::Sql;
    type Mariadb = mariadb::Sql;

    const NAME: &'static str = NAME;
    const SECTION: &'static str = "order_entry";
    const EXAMPLE: &'static str = "orders";
    const FUNCTIONS: &'static str = postgres::FUNCTIONS;
    const PROCEDURES: &'static str = mariadb::PROCEDURES;

    fn check<D: Database>(
        database: &mut D,
        contents: &Generator,
        tally: &Tally,
    ) -> Result<Findings, D::Error> {
        checks::check(database, contents, tally.counted())
    }
}

/// The workload of a plan.
struct OrderEntryWorkload {
    plan: OrderEntryPlan,
    generator: Generator,
    engine: Box<dyn Engine<OrderDatabase>>,
    measures: Vec<MeasureSpec>,
    tally: Arc<Tally>,
    reasons: Arc<Mutex<Reasons>>,
}

impl OrderEntryWorkload {
    fn new(plan: &Plan) -> Self {
        let database = database(plan);
        let generator = database.contents;
        let engine = engine(plan, database).expect("other targets are refused when the plan is read");
        let has = |measure: &MeasureSpec| engine.kind().lacks() != measure.id;
        OrderEntryWorkload {
            plan: OrderEntryPlan::of(plan).clone(),
            generator,
            measures: MEASURES.into_iter().filter(has).collect(),
            engine,
            tally: Arc::default(),
            reasons: Reasons::shared(),
        }
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
        &self.measures
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let published = |transaction: Transaction| Rules {
            quantile: Share::percent(90.0),
            limit: Some(LIMITS[transaction as usize]),
            failures: FAILURES,
        };
        let rule = |transaction: Transaction| {
            let Rules { quantile, limit, failures } =
                self.plan.rules.unwrap_or_else(|| published(transaction));
            let (op, judged, zero) = (transaction.op(), true, Share::ZERO);
            QosRule { op, quantile, limit, judged, mix: zero, mix_tolerance: zero, failures }
        };
        let mut profile = Profile::usual(NAME, &Transaction::ALL.map(rule), None);
        // In a short load unfinished decks move the shares.
        let shares = SHARES.into_iter().filter(|_| self.plan.rules.is_none());
        profile.rules.extend(shares.map(|(transaction, share)| Rule {
            subject: Subject::Mix(transaction.op()),
            bound: Bound::AtLeast(share),
        }));
        (name == NAME).then_some(profile)
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let branches = Transaction::ALL.map(|transaction| NextOp::Op(transaction.op())).to_vec();
        let next = NextOp::Choose { chooser: ChooserId(0), branches };
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
        self.engine.target()
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * self.engine.files()
    }

    fn operations_block(&self) -> bool {
        self.engine.operations_block()
    }

    fn notice(&self) -> Option<&'static str> {
        Some(NOTICE)
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.engine.refusals(plan)
    }

    fn disclose(&self) -> Map<String, Value> {
        let Size { warehouses, scale, items, customers } = self.generator.size;
        let facts = [
            ("notice", json!(NOTICE)),
            ("form", json!(self.plan.form.words())),
            ("busy_ms", json!(self.plan.database.busy.as_millis() as u64)),
            ("warehouses", json!(warehouses)),
            ("scale", json!(scale)),
            ("items", json!(items)),
            ("customers_per_district", json!(customers)),
            (
                "mix",
                json!(
                    "decks of 23 cards: 10 New-Order, 10 Payment, 1 Order-Status, 1 Delivery, 1 Stock-Level"
                ),
            ),
            ("waits", json!(self.plan.waits)),
            ("constants", json!(format!("{:?}", Constants::of_seed(self.generator.seed)))),
        ];
        let mut section: Map<String, Value> =
            facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect();
        section.append(&mut self.engine.disclose());
        Map::from_iter([("order_entry".to_owned(), section.into())])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let filling = self.engine.fill(job, progress);
        let Generator { size: Size { warehouses, scale, .. }, seed, .. } = self.generator;
        let stamp = format!("{NAME}-{}-w{warehouses}-x{scale}-s{seed}", crate::VERSION);
        Some(Box::pin(async move { Ok(fill_entry(filling.await?, stamp)) }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let Generator { size, seed, .. } = self.generator;
        let shared = LoadState {
            inputs: Inputs { size, constants: Constants::of_seed(seed) },
            form: self.plan.form,
            tally: Arc::clone(&self.tally),
            reasons: Arc::clone(&self.reasons),
        };
        self.engine.load(job, shared)
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
        reasons.by_name(&Transaction::SPECS)
    }
}

impl Application for OrderEntryWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        self.engine.topology(plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.engine.answers(url)
    }

    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move { Ok(vec![self.engine.tier(url).await?]) })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let checking = self.engine.verify(url, Arc::clone(&self.tally));
        Some(Box::pin(async move {
            let findings = checking.await?.violations;
            Ok(VerifyResult { ok: findings.is_empty(), findings })
        }))
    }
}
