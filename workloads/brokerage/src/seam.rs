//! The workload behind the seams to engines and to the harness.

use std::sync::{Arc, Mutex};

use barograph_database::{CommitGaps, Database, Findings};
use barograph_database_engines::{DatabaseLoad, DatabaseOperations, DatabaseWorkload, Rules};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, MeasureSpec, Nanos, NextOp, OpSpec, Pace, Profile, QosRule, Share,
};
use barograph_spec::{Plan, Refusals};
use barograph_workload::{LoadCommand, Reasons, Workload, WorkloadFactory};
use serde_json::{Map, Value, json};

use crate::checks;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::market::{LONGEST_DELAY, Market};
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::{BrokeragePlan, database};
use crate::statements::{OnMariadb, OnPostgres};
use crate::tables::Size;
use crate::tally::Tally;
use crate::user::{LoadState, Trader, Transaction};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "brokerage";

/// The sentence at the end of every verdict.
pub(crate) const NOTICE: &str =
    "Brokerage is derived from TPC-E: this is no TPC result and cannot be compared with one.";

/// Tolerance of the shares of transactions, relative to them.
const MIX_TOLERANCE: Share = Share::percent(10.0);

/// Largest share of failed transactions. Planned rollbacks are no failures.
const FAILURES: Share = Share::percent(0.1);

/// The limit on the 90th percentile of response times.
const fn limit(transaction: Transaction) -> Nanos {
    match transaction {
        Transaction::OrderStatus => Nanos::from_secs(1),
        Transaction::PlaceOrder | Transaction::CompleteOrder | Transaction::MarketFeed => Nanos::from_secs(2),
        _ => Nanos::from_secs(3),
    }
}

/// The share of a transaction.
fn share(transaction: Transaction) -> Share {
    Share::percent(Transaction::CARDS[transaction as usize] as f64 / 10.0)
}

/// Makes the workload of plans.
pub struct Brokerage;

impl WorkloadFactory for Brokerage {
    fn about(&self) -> &'static str {
        "customers of a broker, and the market that completes their orders, on a database (derived from TPC-E)"
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        let settings = BrokeragePlan::of(plan).clone();
        Ok(Arc::new(DatabaseLoad::<BrokerageDatabase>::new(plan, settings, database(plan))))
    }
}

/// The workload as engines and harness need it.
pub(crate) enum BrokerageDatabase {}

impl DatabaseWorkload for BrokerageDatabase {
    type Contents = Generator;
    type Shared = LoadState;
    type Tally = Tally;
    type Terminal = Trader;
    type Postgres = OnPostgres;
    type Mariadb = OnMariadb;

    const NAME: &'static str = NAME;
    const SECTION: &'static str = "brokerage";
    const EXAMPLE: &'static str = "brokerage";
    const FUNCTIONS: &'static str = include_str!("functions.sql");

    fn check<D: Database>(
        database: &mut D,
        contents: &Generator,
        tally: &Tally,
    ) -> Result<Findings, D::Error> {
        checks::check(database, contents, tally)
    }
}

impl DatabaseOperations for BrokerageDatabase {
    type Settings = BrokeragePlan;

    const VERSION: u32 = crate::VERSION;
    const NOTICE: &'static str = NOTICE;
    const OPS: &'static [OpSpec] = &Transaction::SPECS;
    const COUNTERS: &'static [&'static str] = &COUNTERS;
    const MEASURES: &'static [MeasureSpec] = &MEASURES;
    const PROFILES: &'static [&'static str] = &[NAME];

    fn profile(settings: &BrokeragePlan, name: &'static str) -> Profile {
        let rule = |transaction: Transaction| {
            let limit = Some(limit(transaction));
            let usual = Rules { quantile: Share::percent(90.0), limit, failures: FAILURES };
            let Rules { quantile, limit, failures } = settings.rules.unwrap_or(usual);
            // In a short load unfinished decks move the shares.
            let (mix, mix_tolerance) = match settings.rules {
                None => (share(transaction), MIX_TOLERANCE),
                Some(_) => (Share::ZERO, Share::ZERO),
            };
            QosRule { op: transaction.op(), quantile, limit, judged: true, mix, mix_tolerance, failures }
        };
        Profile::usual(name, &Transaction::ALL.map(rule), None)
    }

    fn behaviours(_: &BrokeragePlan, _: &str) -> Option<Behaviours> {
        let branches = Transaction::ALL.map(|transaction| NextOp::Op(transaction.op())).to_vec();
        let next = NextOp::Choose { chooser: ChooserId(0), branches };
        let (first, pace) = (Transaction::OrderStatus.op(), Pace::AtOnce);
        let next = vec![Some(next); Transaction::ALL.len()];
        Behaviours::new(vec![Behaviour { name: "main", first, next, pace }]).ok()
    }

    fn size(contents: &Generator) -> String {
        let Generator { size: Size { customers, trades, days }, seed } = contents;
        format!("c{customers}-t{trades}-d{days}-s{seed}")
    }

    fn disclose(settings: &BrokeragePlan, contents: &Generator) -> Map<String, Value> {
        let Size { customers, trades, days } = contents.size;
        let facts = [
            ("form", json!(settings.form.words())),
            ("busy_ms", json!(settings.database.busy.as_millis() as u64)),
            ("customers", json!(customers)),
            ("trades_per_account", json!(trades)),
            ("days", json!(days)),
            ("mix", json!("decks of 100 cards; ten have the shares of the rules")),
            ("market", json!(format!("a queue in the driver: orders stay 1 to {LONGEST_DELAY} operations"))),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn shared(
        (settings, _): (&BrokeragePlan, &str),
        contents: &Generator,
        (tally, reasons): (&Arc<Tally>, &Arc<Mutex<Reasons>>),
    ) -> LoadState {
        LoadState {
            inputs: Inputs(*contents),
            form: settings.form,
            market: Market::new(Generator::date(contents.size.loaded())),
            tally: Arc::clone(tally),
            reasons: Arc::clone(reasons),
        }
    }

    fn gaps(tally: &Tally) -> Option<&CommitGaps> {
        Some(&tally.gaps)
    }

    fn numbers(tally: &Tally) -> Vec<i64> {
        tally.counts.numbers()
    }

    fn add_numbers(tally: &Tally, numbers: &[i64]) {
        tally.counts.add_numbers(numbers);
    }
}
