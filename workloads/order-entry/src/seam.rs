//! The workload behind the seam.

use std::sync::{Arc, Mutex};

use barograph_database::{CommitGaps, Database, Findings};
use barograph_database_engines::{DatabaseLoad, DatabaseOperations, DatabaseWorkload, Rules};
use barograph_model::{
    Behaviour, Behaviours, Bound, ChooserId, MeasureSpec, Nanos, NextOp, OpSpec, Profile, QosRule, Rule,
    Share, Subject,
};
use barograph_spec::{Plan, Refusals};
use barograph_workload::{LoadCommand, Reasons, Workload, WorkloadFactory};
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

/// Its name in plans, and that of its first profile.
pub(crate) const NAME: &str = "order-entry";

/// The name of its profile with the shares of a sales application, which mostly reads.
pub(crate) const SALES: &str = "sales";

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

/// Least shares of transactions in the profile of a sales application.
const SALES_SHARES: [(Transaction, f64); 3] =
    [(Transaction::Payment, 0.2), (Transaction::OrderStatus, 0.44), (Transaction::Delivery, 0.04)];

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
        let settings = OrderEntryPlan::of(plan).clone();
        Ok(Arc::new(DatabaseLoad::<OrderDatabase>::new(plan, settings, database(plan))))
    }
}

/// The workload as engines and harness need it.
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

impl DatabaseOperations for OrderDatabase {
    type Settings = OrderEntryPlan;

    const VERSION: u32 = crate::VERSION;
    const NOTICE: &'static str = NOTICE;
    const OPS: &'static [OpSpec] = &Transaction::SPECS;
    const COUNTERS: &'static [&'static str] = &COUNTERS;
    const MEASURES: &'static [MeasureSpec] = &MEASURES;
    const PROFILES: &'static [&'static str] = &[NAME, SALES];

    fn profile(settings: &OrderEntryPlan, name: &'static str) -> Profile {
        let cards = Transaction::cards(name == SALES);
        let done = Transaction::ALL.into_iter().filter(|transaction| cards[*transaction as usize] > 0);
        let published = |transaction: Transaction| Rules {
            quantile: Share::percent(90.0),
            limit: Some(LIMITS[transaction as usize]),
            failures: FAILURES,
        };
        let rule = |transaction: Transaction| {
            let Rules { quantile, limit, failures } =
                settings.rules.unwrap_or_else(|| published(transaction));
            let (op, judged, zero) = (transaction.op(), true, Share::ZERO);
            QosRule { op, quantile, limit, judged, mix: zero, mix_tolerance: zero, failures }
        };
        let mut profile = Profile::usual(name, &done.map(rule).collect::<Vec<_>>(), None);
        // In a short load unfinished decks move the shares.
        let shares = if name == SALES { &SALES_SHARES[..] } else { &SHARES };
        profile.rules.extend(shares.iter().filter(|_| settings.rules.is_none()).map(
            |(transaction, share)| Rule {
                subject: Subject::Mix(transaction.op()),
                bound: Bound::AtLeast(*share),
            },
        ));
        profile
    }

    fn behaviours(settings: &OrderEntryPlan, _: &str) -> Option<Behaviours> {
        let branches = Transaction::ALL.map(|transaction| NextOp::Op(transaction.op())).to_vec();
        let next = NextOp::Choose { chooser: ChooserId(0), branches };
        let main = Behaviour {
            name: "main",
            first: Transaction::NewOrder.op(),
            next: vec![Some(next); Transaction::ALL.len()],
            pace: settings.pace(),
        };
        Behaviours::new(vec![main]).ok()
    }

    fn size(contents: &Generator) -> String {
        let Generator { size: Size { warehouses, scale, .. }, seed, .. } = contents;
        format!("w{warehouses}-x{scale}-s{seed}")
    }

    fn disclose(settings: &OrderEntryPlan, contents: &Generator) -> Map<String, Value> {
        let Size { warehouses, scale, items, customers } = contents.size;
        let facts = [
            ("form", json!(settings.form.words())),
            ("busy_ms", json!(settings.database.busy.as_millis() as u64)),
            ("warehouses", json!(warehouses)),
            ("scale", json!(scale)),
            ("items", json!(items)),
            ("customers_per_district", json!(customers)),
            (
                "mix",
                json!(
                    "decks of 23 cards: 10 New-Order, 10 Payment, 1 Order-Status, 1 Delivery, 1 Stock-Level; \
                     in the profile sales of 25: 8 New-Order, 5 Payment, 11 Order-Status, 1 Delivery"
                ),
            ),
            ("waits", json!(settings.waits)),
            ("constants", json!(format!("{:?}", Constants::of_seed(contents.seed)))),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn shared(
        (settings, profile): (&OrderEntryPlan, &str),
        contents: &Generator,
        (tally, reasons): (&Arc<Tally>, &Arc<Mutex<Reasons>>),
    ) -> LoadState {
        let Generator { size, seed, .. } = *contents;
        LoadState {
            inputs: Inputs { size, constants: Constants::of_seed(seed) },
            form: settings.form,
            cards: Transaction::cards(profile == SALES),
            tally: Arc::clone(tally),
            reasons: Arc::clone(reasons),
        }
    }

    fn gaps(tally: &Tally) -> Option<&CommitGaps> {
        Some(&tally.gaps)
    }

    fn numbers(tally: &Tally) -> Vec<i64> {
        tally.numbers()
    }

    fn add_numbers(tally: &Tally, numbers: &[i64]) {
        tally.add_numbers(numbers);
    }
}
