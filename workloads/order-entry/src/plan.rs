//! The keys of the workload in plans: `[order_entry]`.

use std::sync::Arc;
use std::time::Duration;

use barograph_model::words::count;
use barograph_model::{Distribution, MeasureSpec, Nanos, Pace, Share, Waits};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::engine;
use crate::generate::Generator;
use crate::measures::MEASURES;
use crate::seam::{NAME, NOTICE, OrderEntry};
use crate::tables::{Size, Table};
use crate::topology::TIER;

/// Most warehouses: a terabyte.
const MOST_WAREHOUSES: u64 = 10_000;

/// Addresses of databases.
const ADDRESSES: &str = "a file of SQLite by its whole path, as in sqlite:///var/tmp/orders.db, \
     or a database of PostgreSQL, as in postgres://me@127.0.0.1/orders, or of MariaDB, as in mysql://me@127.0.0.1/orders";

/// Isolation levels of servers. The transactions are right at the first: they change rows relative to their values.
pub(crate) const ISOLATIONS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];

/// Forms of transactions.
pub(crate) const FORMS: [&str; 2] = ["statements", "stored"];

/// Durability of commits.
pub(crate) const DURABILITIES: [&str; 2] = ["full", "off"];

/// Published keying times and mean think times, in seconds.
const WAITS: [(f64, f64); 5] = [(18.0, 12.0), (3.0, 12.0), (2.0, 10.0), (2.0, 5.0), (2.0, 5.0)];

/// Longest think time, in multiples of the mean.
const LONGEST_THINK: f64 = 10.0;

/// The rule of each transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// The quantile of response times that is judged.
    pub(crate) quantile: Share,
    /// Its limit; `None` where response times are not judged.
    pub(crate) limit: Option<Nanos>,
    /// Largest share of failed transactions.
    pub(crate) failures: Share,
}

/// The form of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Statements, a call for each.
    Statements,
    /// Functions of the database, a call for each transaction.
    Stored,
}

impl Form {
    /// The form in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Form::Statements => "statements: a call for each",
            Form::Stored => "stored: a call of a function for each transaction",
        }
    }
}

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderEntryPlan {
    /// The engine, where the plan has no address.
    pub(crate) database: &'static str,
    pub(crate) size: Size,
    /// Factor on the published keying and think times.
    pub(crate) waits: f64,
    pub(crate) form: Form,
    /// Rules in place of the published ones.
    pub(crate) rules: Option<Rules>,
    /// Commits wait for the disk.
    pub(crate) is_durable: bool,
    /// Writers wait in a fair queue.
    pub(crate) is_queued: bool,
    /// The isolation level of a server, words joined by hyphens.
    pub(crate) isolation: &'static str,
    /// Limit on the wait for a lock, after which the transaction is tried again.
    pub(crate) busy: Duration,
}

impl OrderEntryPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// The waits between transactions.
    pub(crate) fn pace(&self) -> Pace {
        if self.waits == 0.0 {
            return Pace::AtOnce;
        }
        let part = |seconds: f64| Nanos::from_secs_f64(seconds * self.waits);
        let waits = WAITS.map(|(before, mean)| Waits {
            before: part(before),
            after: Distribution::Exponential { mean: part(mean), max: part(mean * LONGEST_THINK) },
        });
        Pace::ByOperation(waits.to_vec())
    }
}

/// The generator of a plan's rows.
pub(crate) fn generator(plan: &Plan) -> Generator {
    Generator::new(OrderEntryPlan::of(plan).size, plan.seed)
}

impl WorkloadKeys for OrderEntry {
    fn name(&self) -> &'static str {
        NAME
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn tiers(&self) -> &'static [&'static str] {
        &[TIER]
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let database = g.choice("deploy.database", &["sqlite", "postgres", "mariadb"], "sqlite");
        let warehouses = g.number("order_entry.warehouses", 1..=MOST_WAREHOUSES, 1);
        let scale = g.fraction("order_entry.scale", 0.001..=1.0, 1.0);
        let waits = g.fraction("order_entry.waits", 0.0..=10.0, 0.0);
        let form = g.choice("order_entry.form", &FORMS, FORMS[0]);
        let rules = rules(g);
        let durability = g.choice("order_entry.durability", &DURABILITIES, DURABILITIES[0]);
        let write_lock = g.choice("order_entry.write_lock", &["queue", "busy"], "queue");
        let isolation = g.choice("order_entry.isolation", &ISOLATIONS, ISOLATIONS[0]);
        let busy_ms = g.number("order_entry.busy_ms", 1..=600_000, 5_000);
        Some(Arc::new(OrderEntryPlan {
            database: database?,
            size: Size::new(warehouses? as u32, scale?),
            waits: waits?,
            form: if form? == "stored" { Form::Stored } else { Form::Statements },
            rules: rules?,
            is_durable: durability? == "full",
            is_queued: write_lock? == "queue",
            isolation: isolation?,
            busy: Duration::from_millis(busy_ms?),
        }))
    }
}

/// The rules of a plan. Outside: a key that is refused.
fn rules(g: &mut SettingsReader) -> Option<Option<Rules>> {
    let is_own = g.choice("order_entry.rules", &["published", "own"], "published")? == "own";
    for key in ["order_entry.limit_ms", "order_entry.quantile", "order_entry.failures"] {
        g.only_with(key, is_own, "order_entry.rules = \"own\"");
    }
    let limit_ms = g.fraction("order_entry.limit_ms", 0.0..=3_600_000.0, 0.0)?;
    let quantile = g.fraction("order_entry.quantile", 0.5..=0.999_999, 0.9)?;
    let failures = g.fraction("order_entry.failures", 0.0..=1.0, 0.001)?;
    let rules = Rules {
        quantile: Share::new(quantile).ok()?,
        limit: Some(Nanos::from_secs_f64(limit_ms / 1e3)).filter(|limit| *limit > Nanos::ZERO),
        failures: Share::new(failures).ok()?,
    };
    Some(is_own.then_some(rules))
}

impl WorkloadSettings for OrderEntryPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        match (engine::of(plan), &plan.target.url) {
            (None, Some(url)) => {
                g.refuse("target.url", format!("{url:?}"), ADDRESSES, "correct it, or leave it out")
            }
            (engine, _) => engine.into_iter().for_each(|engine| engine.check(plan, g)),
        }
        if plan.target.url.is_some() {
            let allowed = "left out with target.url, whose address has an engine";
            g.refuse_asked("deploy.database", allowed, "leave it out, or leave target.url out");
        }
        if plan.target.url.is_some() || self.database == "sqlite" {
            let allowed = "left out where no server is deployed";
            g.refuse_limits(TIER, allowed, "leave it out, or set deploy.database to a server");
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let Some(engine) = engine::of(plan) else { return Vec::new() };
        let Size { warehouses, scale, .. } = self.size;
        let rows: u64 = Table::ALL.into_iter().map(|table| self.size.rows(table)).sum();
        let (of_warehouse, of_items) = engine.bytes();
        let gigabytes = (warehouses as f64 * of_warehouse + of_items) * scale / 1e9;
        let part = match scale {
            1.0 => String::new(),
            _ => format!(" with {} % of the published rows", (scale * 1e5).round() / 1e3),
        };
        let waits = match self.waits {
            0.0 => "without keying and think times".to_owned(),
            1.0 => "with the published keying and think times".to_owned(),
            part => format!("with {part} of the published keying and think times"),
        };
        let (users, target) = engine.explain(plan);
        let mut lines = vec![
            format!(
                "data      {} warehouse{}{part}: {} rows, about {gigabytes:.2} GB",
                count(warehouses.unsigned_abs()),
                if warehouses == 1 { "" } else { "s" },
                count(rows)
            ),
            format!("users     {users} at their warehouses, each with decks of 23 cards, {waits}"),
        ];
        lines.extend(target);
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
        let text = "workload = \"order-entry\"\n";
        barograph_spec::read(Catalogue::of(&[&OrderEntry]), "a plan", text, &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let usual = plan(&[]).unwrap();
        let file = std::path::absolute("data/order-entry-w1-s1.db").unwrap();
        let lines = OrderEntryPlan::of(&usual).explain(&usual);
        assert_eq!(
            lines,
            [
                "data      1 warehouse: 599,011 rows, about 0.08 GB".to_owned(),
                "users     threads at their warehouses, each with decks of 23 cards, without keying and think times"
                    .to_owned(),
                "target    SQLite in this program (WAL, synchronous=FULL: a commit is on the disk before it is done); \
                 writers wait in a queue"
                    .to_owned(),
                format!("          {}: filled once, copied for the run, checked after it", file.display()),
                format!("notice    {NOTICE}"),
            ]
        );
        let sets = [
            "order_entry.warehouses=20",
            "order_entry.scale=0.1",
            "order_entry.waits=0.5",
            "order_entry.durability=off",
            "order_entry.write_lock=busy",
            "target.url=sqlite:///var/tmp/orders.db",
        ];
        let other = plan(&sets).unwrap();
        let lines = OrderEntryPlan::of(&other).explain(&other).join("\n");
        for words in [
            "20 warehouses with 10 % of the published rows",
            "with 0.5 of the published keying and think times",
            "synchronous=OFF",
            "ask for the lock again and again",
            " /var/tmp/orders.db: filled once",
        ] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
    }

    #[test]
    fn a_server_is_deployed_by_its_name_or_there_at_its_address() {
        let deployed = plan(&["deploy.database=postgres", "order_entry.isolation=serializable"]).unwrap();
        let lines = OrderEntryPlan::of(&deployed).explain(&deployed).join("\n");
        for words in [
            "users     sessions at their",
            "target    PostgreSQL on platform process, ",
            "          a commit is on the disk before it is done; transactions are serializable",
            "          statements: a call for each",
        ] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
        let there =
            plan(&["target.url=postgres://me:secret@h/orders", "order_entry.durability=off"]).unwrap();
        let lines = OrderEntryPlan::of(&there).explain(&there).join("\n");
        for words in ["postgres://me:***@h/orders, which is there already", "commits wait for no disk"] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
        let sets = ["target.url=mysql://me:secret@h/orders", "order_entry.isolation=repeatable-read"];
        let there = plan(&sets).unwrap();
        let lines = OrderEntryPlan::of(&there).explain(&there).join("\n");
        for words in ["mysql://me:***@h/orders, which is there already", "transactions are repeatable-read"] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
    }

    #[test]
    fn a_deployed_server_has_sessions_for_all_users() {
        let deployed = plan(&[
            "deploy.database=postgres",
            "load.strategy=fixed",
            "load.users=30",
            "order_entry.durability=off",
        ])
        .unwrap();
        let topology = engine::of(&deployed).unwrap().topology(&deployed);
        assert_eq!((&topology.fronts[..], topology.scheme), (&["database-1".to_owned()][..], "postgres"));
        let values = format!("{:?}", topology.parts[0].values);
        assert_eq!(values, r#"[("connections", Text("50")), ("not_durable", Text("yes"))]"#);
        let deployed = plan(&["deploy.database=mariadb", "load.strategy=fixed", "load.users=30"]).unwrap();
        let topology = engine::of(&deployed).unwrap().topology(&deployed);
        assert_eq!(topology.scheme, "mysql");
        assert_eq!(format!("{:?}", topology.parts[0].values), r#"[("connections", Text("50"))]"#);
        let embedded = plan(&[]).unwrap();
        assert!(engine::of(&embedded).unwrap().topology(&embedded).parts.is_empty());
    }

    #[test]
    fn keys_without_effect_on_an_engine_are_refused() {
        for (sets, words) in [
            (&["order_entry.isolation=serializable"][..], "left out with SQLite"),
            (&["order_entry.form=stored"], "left out with SQLite"),
            (&["deploy.database_cpus=1"], "where no server is deployed"),
            (&["deploy.database=postgres", "order_entry.write_lock=busy"], "left out with PostgreSQL"),
            (
                &["deploy.database=postgres", "target.url=postgres://me@h/orders"],
                "whose address has an engine",
            ),
            (&["target.url=postgres://me@h/orders", "deploy.database_cpus=1"], "where no server is deployed"),
            (&["target.url=postgres://me@h/postgres"], "a database of its own"),
            (&["deploy.database=mariadb", "order_entry.form=stored"], "left out with MariaDB"),
            (&["deploy.database=mariadb", "order_entry.write_lock=busy"], "left out with MariaDB"),
            (&["target.url=mysql://me@h/mysql"], "a database of its own"),
            (&["target.url=mysql://me@h"], "a database of its own"),
            (&["target.url=mariadb://h/orders"], "an address as in mysql://me@127.0.0.1/orders (no user"),
            (&["target.url=postgres://h/orders"], "an address as in postgres://me@127.0.0.1/orders ("),
        ] {
            let text = in_one_line(&plan(sets).unwrap_err());
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn waits_are_those_of_each_transaction() {
        assert_eq!(OrderEntryPlan::of(&plan(&[]).unwrap()).pace(), Pace::AtOnce);
        let half = plan(&["order_entry.waits=0.5"]).unwrap();
        let Pace::ByOperation(waits) = OrderEntryPlan::of(&half).pace() else { panic!("waits by operation") };
        let delivery = Waits {
            before: Nanos::from_secs(1),
            after: Distribution::Exponential { mean: Nanos::from_millis(2_500), max: Nanos::from_secs(25) },
        };
        assert_eq!((waits.len(), &waits[3]), (5, &delivery));
    }

    #[test]
    fn other_targets_are_refused() {
        for url in ["http://db/orders", "sqlite:orders.db", "sqlite://orders.db", "load:shop"] {
            let refused = plan(&[&format!("target.url={url}")]).unwrap_err();
            let text = in_one_line(&refused);
            assert!(text.contains("target.url") && text.contains("a file of SQLite"), "{text}");
        }
    }
}
