//! The keys of the workload in plans: `[brokerage]`.

use std::sync::Arc;

use barograph_database::STATISTICS;
use barograph_database_engines::{
    DatabasePlan, DatabaseSettings, DatabaseWorkload as _, EngineKind, Form, Rules, TIERS, check, engine,
};
use barograph_model::words::count;
use barograph_model::{MeasureSpec, StatisticMetric};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::generate::Generator;
use crate::measures::MEASURES;
use crate::seam::{Brokerage, BrokerageDatabase, NAME, NOTICE};
use crate::tables::{Size, Table};

/// Fewest customers: those of one broker, with more securities than a feed has prices.
const FEWEST_CUSTOMERS: u64 = 100;

/// Most customers: a hundred gigabytes with the usual trades and days.
const MOST_CUSTOMERS: u64 = 1_000_000;

/// Bytes of a row on average, with its part of the indices.
const ROW_BYTES: u64 = 72;

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BrokeragePlan {
    pub(crate) size: Size,
    pub(crate) form: Form,
    /// Rules in place of those of the workload.
    pub(crate) rules: Option<Rules>,
    pub(crate) database: DatabaseSettings,
}

impl BrokeragePlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }
}

/// The database of a plan.
pub(crate) fn database(plan: &Plan) -> DatabasePlan<Generator> {
    let BrokeragePlan { size, database, .. } = BrokeragePlan::of(plan);
    let Size { customers, trades, days } = size;
    DatabasePlan {
        settings: database.clone(),
        contents: Generator { size: *size, seed: plan.seed },
        size: format!("c{customers}-t{trades}-d{days}"),
    }
}

impl WorkloadKeys for Brokerage {
    fn name(&self) -> &'static str {
        NAME
    }

    fn asks_target(&self) -> bool {
        true
    }

    fn statistics(&self) -> &'static [StatisticMetric] {
        &STATISTICS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let customers = g.number("brokerage.customers", FEWEST_CUSTOMERS..=MOST_CUSTOMERS, 1_000);
        let trades = g.number("brokerage.trades", 4..=200, 20);
        let days = g.number("brokerage.days", 5..=2_500, 250);
        let form = Form::read(g, BrokerageDatabase::SECTION);
        let rules = Rules::read(g, BrokerageDatabase::SECTION);
        let database = DatabaseSettings::read(g, BrokerageDatabase::SECTION);
        Some(Arc::new(BrokeragePlan {
            size: Size { customers: customers? as i64, trades: trades? as i64, days: days? as i64 },
            form: form?,
            rules: rules?,
            database: database?,
        }))
    }
}

impl WorkloadSettings for BrokeragePlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let engine = check::<BrokerageDatabase>(plan, database(plan), g);
        Form::check(
            g,
            BrokerageDatabase::SECTION,
            engine.map(|engine| engine.kind()),
            &[EngineKind::Postgres],
        );
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let Some(engine) = engine::<BrokerageDatabase>(plan, database(plan)) else { return Vec::new() };
        let size = self.size;
        let rows: u64 = Table::ALL.into_iter().map(|table| size.rows(table)).sum();
        let (users, target) = engine.explain(plan);
        let number = |number: i64| count(number.unsigned_abs());
        let mut lines = vec![
            format!(
                "data      {} customers, {} accounts with {} trades each, {} securities with {} days: {} rows, about {:.2} GB",
                number(size.customers),
                number(size.accounts()),
                number(size.trades),
                number(size.securities()),
                number(size.days),
                count(rows),
                (rows * ROW_BYTES) as f64 / 1e9
            ),
            format!(
                "users     {users}, customers and market in turn: decks of 100 cards, of which 10 are orders and 11 the market's"
            ),
            "          orders wait for the market in a queue of the driver, whose length is reported"
                .to_owned(),
        ];
        lines.extend(target);
        if engine.kind() == EngineKind::Postgres {
            lines.push(format!("          {}", self.form.words()));
        }
        lines.push(format!("notice    {NOTICE}"));
        lines
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        barograph_spec::read(Catalogue::of(&[&Brokerage]), "a plan", "workload = \"brokerage\"\n", &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let usual = plan(&[]).unwrap();
        let file = std::path::absolute("data/brokerage-c1000-t20-d250-s1.db").unwrap();
        assert_eq!(
            BrokeragePlan::of(&usual).explain(&usual),
            [
                "data      1,000 customers, 5,000 accounts with 20 trades each, 685 securities with 250 days: \
                 873,161 rows, about 0.06 GB"
                    .to_owned(),
                "users     threads, customers and market in turn: decks of 100 cards, of which 10 are orders and 11 the market's"
                    .to_owned(),
                "          orders wait for the market in a queue of the driver, whose length is reported".to_owned(),
                "target    SQLite in this program (WAL, synchronous=FULL: a commit is on the disk before it is done); \
                 writers wait in a queue"
                    .to_owned(),
                format!("          {}: filled once, copied for the run, checked after it", file.display()),
                format!("notice    {NOTICE}"),
            ]
        );
        let stored = plan(&["deploy.database=postgres", "brokerage.form=stored"]).unwrap();
        let lines = BrokeragePlan::of(&stored).explain(&stored).join("\n");
        assert!(
            lines.contains("users     sessions")
                && lines.contains("a call of a function or procedure for each"),
            "{lines}"
        );
    }

    #[test]
    fn keys_without_effect_are_refused() {
        for (set, words) in [
            ("target.url=http://db/brokerage", "a file of SQLite"),
            ("brokerage.form=stored", "left out with SQLite, where every statement is a call"),
            ("brokerage.isolation=serializable", "left out with SQLite"),
            ("brokerage.customers=99", "100 to 1000000"),
        ] {
            let text = in_one_line(&plan(&[set]).unwrap_err());
            assert!(text.contains(words), "{text}");
        }
    }
}
