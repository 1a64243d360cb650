//! The keys of the workload in plans: `[order_entry]`.

use std::sync::Arc;

use barograph_database::STATISTICS;
use barograph_database_engines::{
    DatabasePlan, DatabaseSettings, DatabaseWorkload as _, EngineKind, Form, Rules, TIERS, check, engine,
};
use barograph_model::words::count;
use barograph_model::{Distribution, MeasureSpec, Nanos, Pace, StatisticMetric, Waits};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::generate::Generator;
use crate::measures::MEASURES;
use crate::seam::{NAME, NOTICE, OrderDatabase, OrderEntry, SALES};
use crate::tables::{Size, Table};
use crate::user::Transaction;

/// Most warehouses: a terabyte.
const MOST_WAREHOUSES: u64 = 10_000;

/// Published keying times and mean think times, in seconds.
const WAITS: [(f64, f64); 5] = [(18.0, 12.0), (3.0, 12.0), (2.0, 10.0), (2.0, 5.0), (2.0, 5.0)];

/// Longest think time, in multiples of the mean.
const LONGEST_THINK: f64 = 10.0;

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderEntryPlan {
    pub(crate) size: Size,
    /// Factor on the published keying and think times.
    pub(crate) waits: f64,
    pub(crate) form: Form,
    /// Rules in place of the published ones.
    pub(crate) rules: Option<Rules>,
    pub(crate) database: DatabaseSettings,
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

/// The database of a plan.
pub(crate) fn database(plan: &Plan) -> DatabasePlan<Generator> {
    let OrderEntryPlan { size, database, .. } = OrderEntryPlan::of(plan);
    let Size { warehouses, scale, .. } = size;
    let part = if *scale < 1.0 { format!("-x{scale}") } else { String::new() };
    DatabasePlan {
        settings: database.clone(),
        contents: Generator::new(*size, plan.seed),
        size: format!("w{warehouses}{part}"),
    }
}

/// Bytes of a warehouse of the published size, and of the items.
fn bytes(engine: EngineKind) -> (f64, f64) {
    match engine {
        EngineKind::Sqlite => (71e6, 9e6),
        EngineKind::Postgres => (100e6, 14e6),
        EngineKind::Mariadb => (93e6, 10e6),
    }
}

impl WorkloadKeys for OrderEntry {
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
        let warehouses = g.number("order_entry.warehouses", 1..=MOST_WAREHOUSES, 1);
        let scale = g.fraction("order_entry.scale", 0.001..=1.0, 1.0);
        let waits = g.fraction("order_entry.waits", 0.0..=10.0, 0.0);
        let form = Form::read_pipelined(g, OrderDatabase::SECTION);
        let rules = Rules::read(g, OrderDatabase::SECTION);
        let database = DatabaseSettings::read(g, OrderDatabase::SECTION);
        Some(Arc::new(OrderEntryPlan {
            size: Size::new(warehouses? as u32, scale?),
            waits: waits?,
            form: form?,
            rules: rules?,
            database: database?,
        }))
    }
}

impl WorkloadSettings for OrderEntryPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let engine = check::<OrderDatabase>(plan, database(plan), g).map(|engine| engine.kind());
        let with = [EngineKind::Postgres, EngineKind::Mariadb];
        Form::check(g, OrderDatabase::SECTION, engine, &with);
        self.form.check_pipelined(g, OrderDatabase::SECTION, engine);
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let Some(engine) = engine::<OrderDatabase>(plan, database(plan)) else { return Vec::new() };
        let Size { warehouses, scale, .. } = self.size;
        let rows: u64 = Table::ALL.into_iter().map(|table| self.size.rows(table)).sum();
        let (of_warehouse, of_items) = bytes(engine.kind());
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
        let cards: usize = Transaction::cards(plan.profile == SALES).iter().sum();
        let mut lines = vec![
            format!(
                "data      {} warehouse{}{part}: {} rows, about {gigabytes:.2} GB",
                count(warehouses.unsigned_abs()),
                if warehouses == 1 { "" } else { "s" },
                count(rows)
            ),
            format!("users     {users} at their warehouses, each with decks of {cards} cards, {waits}"),
        ];
        lines.extend(target);
        if engine.kind() != EngineKind::Sqlite {
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
        let topology = engine::<OrderDatabase>(&deployed, database(&deployed)).unwrap().topology(&deployed);
        assert_eq!((&topology.fronts[..], topology.scheme), (&["database-1".to_owned()][..], "postgres"));
        let values = format!("{:?}", topology.parts[0].values);
        assert_eq!(values, r#"[("connections", Text("50")), ("not_durable", Text("yes"))]"#);
        let deployed = plan(&["deploy.database=mariadb", "load.strategy=fixed", "load.users=30"]).unwrap();
        let topology = engine::<OrderDatabase>(&deployed, database(&deployed)).unwrap().topology(&deployed);
        assert_eq!(topology.scheme, "mysql");
        assert_eq!(format!("{:?}", topology.parts[0].values), r#"[("connections", Text("50"))]"#);
        let embedded = plan(&[]).unwrap();
        assert!(
            engine::<OrderDatabase>(&embedded, database(&embedded))
                .unwrap()
                .topology(&embedded)
                .parts
                .is_empty()
        );
    }

    #[test]
    fn parts_stand_in_front_of_a_server_and_behind_it() {
        let topology = |sets: &[&str]| {
            let deployed = plan(&[&["deploy.database=postgres"], sets].concat()).unwrap();
            engine::<OrderDatabase>(&deployed, database(&deployed)).unwrap().topology(&deployed)
        };
        let all = ["deploy.balancer=haproxy", "deploy.pool=pgbouncer", "deploy.standby=asynchronous"];
        let whole = topology(&all);
        let parts: Vec<String> =
            whole.parts.iter().map(|part| format!("{} > {}", part.name, part.needs.join(" "))).collect();
        assert_eq!(
            parts,
            ["balancer-1 > pool-1", "pool-1 > database-1", "database-1 > ", "standby-1 > database-1"]
        );
        assert_eq!(whole.fronts, ["balancer-1", "database-1:main", "standby-1:main"]);
        let values = format!("{:?}", whole.parts[2].values);
        assert!(values.contains(r#"("replication", Text("asynchronous"))"#), "{values}");
        assert_eq!(topology(&all[..1]).fronts, ["balancer-1", "database-1:main"]);
        assert_eq!(topology(&["deploy.standby=synchronous"]).fronts, ["database-1", "standby-1:main"]);
        let deployed =
            plan(&["deploy.database=postgres", all[0], all[1], "deploy.standby=synchronous"]).unwrap();
        let lines = OrderEntryPlan::of(&deployed).explain(&deployed).join("\n");
        let words = "sessions go through HAProxy and PgBouncer; a commit is on the disk of a standby, too";
        assert!(lines.contains(words), "{lines}");
    }

    #[test]
    fn keys_without_effect_on_an_engine_are_refused() {
        for (sets, words) in [
            (&["order_entry.isolation=serializable"][..], "left out with SQLite"),
            (&["order_entry.form=stored"], "left out with SQLite"),
            (&["order_entry.form=pipelined"], "left out with SQLite"),
            (&["deploy.database=mariadb", "order_entry.form=pipelined"], "statements or stored with MariaDB"),
            (
                &["target.url=mysql://me@h/orders", "order_entry.form=pipelined"],
                "goes on after a statement that failed",
            ),
            (&["deploy.database_cpus=1"], "where no server is deployed"),
            (&["deploy.database=postgres", "order_entry.write_lock=busy"], "left out with PostgreSQL"),
            (
                &["deploy.database=postgres", "target.url=postgres://me@h/orders"],
                "whose address has an engine",
            ),
            (&["target.url=postgres://me@h/orders", "deploy.database_cpus=1"], "where no server is deployed"),
            (&["target.url=postgres://me@h/postgres"], "a database of its own"),
            (&["deploy.balancer=haproxy"], "where no server is deployed"),
            (&["deploy.database=mariadb", "deploy.pool=pgbouncer"], "with deploy.database = \"postgres\""),
            (
                &["deploy.database=mariadb", "deploy.standby=synchronous"],
                "with deploy.database = \"postgres\"",
            ),
            (
                &["deploy.database=postgres", "deploy.standby=synchronous", "order_entry.durability=off"],
                "with durability off",
            ),
            (&["deploy.database=postgres", "deploy.pool_cpus=1"], "left out without such a part"),
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
