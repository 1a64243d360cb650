//! The keys of the workload in plans: `[store]`.

use std::sync::Arc;

use barograph_database::STATISTICS;
use barograph_database_engines::{
    DatabasePlan, DatabaseSettings, DatabaseWorkload as _, EngineKind, Rules, TIERS as DATABASE_TIERS, check,
    engine,
};
use barograph_model::secret::masked;
use barograph_model::words::count;
use barograph_model::{Distribution, MeasureSpec, Nanos, Pace, Share, StatisticMetric, Waits};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::generate::Generator;
use crate::input::Habits;
use crate::measures::MEASURES;
use crate::seam::{NAME, NOTICE, Store, StoreDatabase};
use crate::tables::{Size, Table};
use crate::user::Operation;
use crate::web::{FRONT, WEB, WebTier};

/// The largest size: a terabyte.
const MOST_MEGABYTES: u64 = 1_000_000;

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StorePlan {
    pub(crate) size: Size,
    pub(crate) habits: Habits,
    /// Mean think time between visits.
    pub(crate) think: Nanos,
    /// Rules in place of those of the workload.
    pub(crate) rules: Option<Rules>,
    pub(crate) database: DatabaseSettings,
    /// The tier between users and database; `None` for users at the database.
    pub(crate) web: Option<WebTier>,
}

impl StorePlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// The waits between operations: think time after a purchase, up to twice the mean.
    pub(crate) fn pace(&self) -> Pace {
        if self.think == Nanos::ZERO {
            return Pace::AtOnce;
        }
        let after = |operation| match operation {
            Operation::Purchase => {
                Distribution::Uniform { min: Nanos::ZERO, max: Nanos(self.think.0.saturating_mul(2)) }
            }
            _ => Distribution::Constant(Nanos::ZERO),
        };
        let waits = Operation::ALL.map(|operation| Waits { before: Nanos::ZERO, after: after(operation) });
        Pace::ByOperation(waits.to_vec())
    }

    /// The expected share of an operation.
    pub(crate) fn share(&self, operation: Operation) -> Share {
        let searches = self.habits.searches as f64;
        let new = self.habits.new_customers.get();
        let in_a_visit = match operation {
            Operation::Login => 1.0 - new,
            Operation::NewCustomer => new,
            Operation::Purchase => 1.0,
            _ => searches / Operation::SEARCHES.len() as f64,
        };
        Share::percent(100.0 * in_a_visit / (searches + 2.0))
    }
}

/// Platforms whose hosts have the files of this machine.
const HOSTS_OF_FILES: [&str; 2] = ["process", "namespace"];

/// All tiers, from the users to the standby.
const TIERS: [&str; 2 + DATABASE_TIERS.len()] = {
    let [balancer, pool, database, standby] = DATABASE_TIERS;
    [FRONT, WEB, balancer, pool, database, standby]
};

/// Nodes of the web tier at the most.
const MOST_NODES: u64 = 32;

/// Reads the keys of the web tier. The inner value is `None` for users at the database, the outer one where a key is refused.
fn web_tier(g: &mut SettingsReader) -> Option<Option<WebTier>> {
    let is_web = g.choice("store.access", &["direct", "web"], "direct")? == "web";
    for key in ["deploy.web_nodes", "deploy.web_sessions", "deploy.front"] {
        g.only_with(key, is_web, "store.access = \"web\"");
    }
    let nodes = g.number("deploy.web_nodes", 1..=MOST_NODES, 1);
    let sessions = g.number("deploy.web_sessions", 1..=1_000, 16);
    let front = g.choice("deploy.front", &["none", "nginx", "haproxy"], "none");
    let tier = WebTier { nodes: nodes? as u32, sessions: sessions? as u32, front: front? };
    Some(is_web.then_some(tier))
}

/// The database of a plan.
pub(crate) fn database(plan: &Plan) -> DatabasePlan<Generator> {
    let StorePlan { size, database, .. } = StorePlan::of(plan);
    DatabasePlan {
        settings: database.clone(),
        contents: Generator::new(*size, plan.seed),
        size: format!("{}mb", size.megabytes),
    }
}

impl WorkloadKeys for Store {
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
        let megabytes = g.number("store.megabytes", 1..=MOST_MEGABYTES, 100);
        let new_customers = g.fraction("store.new_customers_percent", 0.0..=100.0, 20.0);
        let searches = g.number("store.searches", 1..=100, 3);
        let search_rows = g.number("store.search_rows", 1..=100, 5);
        let title_hits = g.fraction("store.title_hits_percent", 0.0..=100.0, 90.0);
        let lines = g.number("store.lines", 1..=50, 5);
        let shortages = g.fraction("store.shortages_percent", 0.0..=100.0, 2.0);
        let skew = g.fraction("store.skew", 0.0..=2.0, 0.8);
        let think = g.time("store.think_s", 0.0..=3_600.0, 0.0);
        let rules = Rules::read(g, StoreDatabase::SECTION);
        let database = DatabaseSettings::read(g, StoreDatabase::SECTION);
        let web = web_tier(g);
        Some(Arc::new(StorePlan {
            size: Size::new(megabytes? as u32),
            habits: Habits {
                new_customers: Share::percent(new_customers?),
                searches: searches? as i64,
                search_rows: search_rows? as i64,
                title_hits: Share::percent(title_hits?),
                lines: lines? as i64,
                shortages: Share::percent(shortages?),
                skew: skew?,
            },
            think: think?,
            rules: rules?,
            database: database?,
            web: web?,
        }))
    }
}

impl WorkloadSettings for StorePlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        let engine = check::<StoreDatabase>(plan, database(plan), g);
        let Some(web) = self.web else {
            for tier in [WEB, FRONT] {
                g.refuse_limits(
                    tier,
                    "left out without a web tier",
                    "leave it out, or set store.access = \"web\"",
                );
            }
            return;
        };
        if web.front == "none" {
            g.refuse_limits(FRONT, "left out without such a part", "leave it out, or set deploy.front");
        }
        if let Some(url) = &plan.target.url {
            let allowed = "left out with store.access = \"web\": the run deploys web tier and database";
            g.refuse(
                "target.url",
                format!("{:?}", masked(url)),
                allowed,
                "leave it out, or set store.access = \"direct\"",
            );
        }
        let is_file = engine.is_some_and(|engine| engine.kind() == EngineKind::Sqlite);
        if is_file && !HOSTS_OF_FILES.contains(&&*plan.deploy.platform) {
            let allowed =
                format!("{} where web nodes have a SQLite file of this machine", HOSTS_OF_FILES.join(" or "));
            let remedy = "choose one of these, or set deploy.database to a server";
            g.refuse("platform", format!("{:?}", plan.deploy.platform), &allowed, remedy);
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let Some(engine) = engine::<StoreDatabase>(plan, database(plan)) else { return Vec::new() };
        let (size, habits) = (self.size, self.habits);
        let rows: u64 = Table::ALL.into_iter().map(|table| size.rows(table)).sum();
        let percent = |share: Share| (share.get() * 1e5).round() / 1e3;
        let think = match self.think {
            Nanos::ZERO => "without think time".to_owned(),
            think => format!("with {} s between visits on average", think.as_secs_f64()),
        };
        let (mut users, mut target) = engine.explain(plan);
        if let Some(WebTier { nodes, sessions, front }) = self.web {
            users = "HTTP connections";
            let behind = if front == "none" { String::new() } else { format!(" behind {front}") };
            let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
            target.push(format!(
                "web       {nodes} of this program{behind}, {sessions} sessions of the database each"
            ));
        }
        let mut lines = vec![
            format!(
                "data      {} customers, {} products, {} orders: {} rows, about {} MB",
                count(size.customers.unsigned_abs()),
                count(size.products.unsigned_abs()),
                count(size.orders.unsigned_abs()),
                count(rows),
                count(size.megabytes.unsigned_abs())
            ),
            format!(
                "users     {users}, one visit after the other, {think}; a visit is a login ({} % are new customers), {} searches, \
                 a purchase of {} lines",
                percent(habits.new_customers),
                habits.searches,
                habits.lines
            ),
            format!(
                "          {} % of the orders ask for a product that is sold out; popularity of products: Zipf, exponent {}",
                percent(habits.shortages),
                habits.skew
            ),
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
        barograph_spec::read(Catalogue::of(&[&Store]), "a plan", "workload = \"store\"\n", &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let usual = plan(&[]).unwrap();
        let file = std::path::absolute("data/store-100mb-s1.db").unwrap();
        assert_eq!(
            StorePlan::of(&usual).explain(&usual),
            [
                "data      280,000 customers, 56,000 products, 168,000 orders: 2,240,016 rows, about 100 MB".to_owned(),
                "users     threads, one visit after the other, without think time; a visit is a login (20 % are new customers), \
                 3 searches, a purchase of 5 lines"
                    .to_owned(),
                "          2 % of the orders ask for a product that is sold out; popularity of products: Zipf, exponent 0.8"
                    .to_owned(),
                "target    SQLite in this program (WAL, synchronous=FULL: a commit is on the disk before it is done); \
                 writers wait in a queue"
                    .to_owned(),
                format!("          {}: filled once, copied for the run, checked after it", file.display()),
                format!("notice    {NOTICE}"),
            ]
        );
        let sets = [
            "store.megabytes=10",
            "store.new_customers_percent=12.5",
            "store.searches=7",
            "store.lines=2",
            "store.shortages_percent=0",
            "store.skew=1.1",
            "store.think_s=2.5",
            "store.durability=off",
            "store.write_lock=busy",
            "target.url=sqlite:///var/tmp/store.db",
        ];
        let other = plan(&sets).unwrap();
        let lines = StorePlan::of(&other).explain(&other).join("\n");
        for words in [
            "28,000 customers, 5,600 products",
            "with 2.5 s between visits",
            "(12.5 % are new customers), 7 searches, a purchase of 2 lines",
            "0 % of the orders",
            "exponent 1.1",
            "synchronous=OFF",
            "ask for the lock again and again",
            " /var/tmp/store.db: filled once",
        ] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
    }

    #[test]
    fn a_web_tier_is_explained_and_its_keys_belong_to_it() {
        let sets =
            ["store.access=web", "deploy.web_nodes=2", "deploy.front=nginx", "deploy.database=postgres"];
        let web = plan(&sets).unwrap();
        let lines = StorePlan::of(&web).explain(&web);
        assert!(lines[1].starts_with("users     HTTP connections, one visit after the other"), "{lines:?}");
        let tier = "web       2 nodes of this program behind nginx, 16 sessions of the database each";
        assert!(lines.contains(&tier.to_owned()), "{lines:?}");
        for (sets, words) in [
            (&["deploy.web_nodes=2"][..], "deploy.web_nodes"),
            (&["deploy.front=haproxy"], "store.access = \"web\""),
            (&["deploy.web_cpus=1"], "left out without a web tier"),
            (&["store.access=web", "deploy.front_cpus=1"], "left out without such a part"),
            (
                &["store.access=web", "target.url=postgres://me@db/store"],
                "the run deploys web tier and database",
            ),
        ] {
            let text = in_one_line(&plan(sets).unwrap_err());
            assert!(text.contains(words), "{sets:?}: {text}");
        }
    }

    #[test]
    fn think_time_follows_a_purchase() {
        assert_eq!(StorePlan::of(&plan(&[]).unwrap()).pace(), Pace::AtOnce);
        let slow = plan(&["store.think_s=3"]).unwrap();
        let Pace::ByOperation(waits) = StorePlan::of(&slow).pace() else { panic!("waits by operation") };
        let none = Waits { before: Nanos::ZERO, after: Distribution::Constant(Nanos::ZERO) };
        assert!(waits[..5].iter().all(|waits| *waits == none));
        assert_eq!(waits[5].after, Distribution::Uniform { min: Nanos::ZERO, max: Nanos::from_secs(6) });
    }

    #[test]
    fn shares_are_those_of_a_visit() {
        let plan = plan(&["store.searches=6", "store.new_customers_percent=50"]).unwrap();
        let shares = Operation::ALL.map(|operation| StorePlan::of(&plan).share(operation).get());
        assert_eq!(shares, [0.0625, 0.0625, 0.25, 0.25, 0.25, 0.125]);
    }

    #[test]
    fn other_targets_are_refused() {
        for (url, words) in [
            ("http://db/store", "a file of SQLite"),
            ("sqlite:store.db", "a file of SQLite"),
            ("load:shop", "a file of SQLite"),
            ("postgres://db/store", "an address as in postgres://me@127.0.0.1/store"),
            ("mysql://me@db/mysql", "a database of its own"),
        ] {
            let text = in_one_line(&plan(&[&format!("target.url={url}")]).unwrap_err());
            assert!(text.contains("target.url") && text.contains(words), "{text}");
        }
        let text = in_one_line(&plan(&["store.isolation=serializable"]).unwrap_err());
        assert!(text.contains("left out with SQLite"), "{text}");
    }
}
