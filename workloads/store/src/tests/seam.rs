//! The workload as the harness uses it: fill, load, checks.

use std::path::Path;
use std::sync::Arc;

use barograph_database::measures::{LOCK_WAIT, WRITES};
use barograph_engine::Settings;
use barograph_model::{Nanos, OpId};
use barograph_spec::{Catalogue, Plan};
use barograph_stats::Interval;
use barograph_workload::{LoadError, LoadJob, VerifyResult, Workload, WorkloadFactory as _};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::Store;
use crate::measures::{ORDERS, SHORTAGES, TITLE_HITS};
use crate::plan::StorePlan;
use crate::seam::NAME;
use crate::user::Operation;

const USERS: usize = 3;

fn plan(folder: &Path, sets: &[&str]) -> Plan {
    let sets = [&["store.durability=off"], sets].concat();
    plan_at(&format!("sqlite://{}", folder.join("store.db").display()), &sets)
}

/// A plan for a small database at an address.
pub(crate) fn plan_at(url: &str, sets: &[&str]) -> Plan {
    let mut all = vec![format!("target.url={url}"), "store.megabytes=1".to_owned()];
    all.extend(sets.iter().map(|set| (*set).to_owned()));
    let text = format!("workload = {NAME:?}\n");
    barograph_spec::read(Catalogue::of(&[&Store]), "a plan", &text, &all).unwrap()
}

/// The address of the target.
fn url<'a>(workload: &'a dyn Workload, plan: &'a Plan) -> &'a str {
    workload.target().or(plan.target.url.as_deref()).unwrap()
}

/// Fills, and says whether an earlier fill was found.
pub(crate) async fn fill(workload: &dyn Workload, plan: &Plan) -> Result<bool, LoadError> {
    let job = LoadJob { url: url(workload, plan), plan, data: None };
    let filling = workload.prepare(&job, Arc::new(|_| {})).unwrap();
    filling.await.map(|filled| filled.reused)
}

/// Operations that have ended.
pub(crate) fn ended(all: &Interval) -> u64 {
    all.ops.iter().map(|op| op.count()).sum()
}

/// The load of some users until `is_enough`.
pub(crate) async fn load(
    workload: &dyn Workload,
    plan: &Plan,
    mut is_enough: impl FnMut(&Interval) -> bool,
) -> Interval {
    let job = LoadJob { url: url(workload, plan), plan, data: None };
    let profile = workload.profile(NAME).unwrap();
    let settings = Settings {
        workers: USERS,
        seed: plan.seed,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: profile.time_limits(Operation::ALL.len()),
        interval: Nanos::from_millis(50),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let mut load = workload.load(&job).unwrap().start(&settings).unwrap();
    load.ramp(USERS as u32, Nanos::ZERO).await.unwrap();
    let mut all = load.next().await.unwrap().unwrap();
    while !is_enough(&all) {
        all.append(&load.next().await.unwrap().unwrap());
    }
    load.stop(Nanos::from_secs(60)).await;
    while let Some(next) = load.next().await.unwrap() {
        all.append(&next);
    }
    all
}

pub(crate) async fn verify(workload: &dyn Workload, plan: &Plan) -> VerifyResult {
    workload.application().unwrap().verify(url(workload, plan)).unwrap().await.unwrap()
}

pub(crate) fn block<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

#[test]
fn a_load_is_counted_and_its_data_are_right() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = plan(folder.path(), &[]);
        let workload = Store.of_plan(&plan).unwrap();
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 5_000).await;
        let failed: u64 = all.ops.iter().map(|op| op.failed()).sum();
        assert_eq!((failed, workload.failure_reasons()), (0, vec![]));
        let count = |operation: Operation| all.ops[operation as usize].count();
        let (ordered, short) = (all.counters.get(ORDERS), all.counters.get(SHORTAGES));
        assert_eq!(ordered + short, count(Operation::Purchase));
        assert!(short > 0 && short < ordered / 10, "{short} of {ordered}");
        assert_eq!(all.counters.get(WRITES), count(Operation::Purchase) + count(Operation::NewCustomer));
        let hits = all.counters.get(TITLE_HITS) as f64 / count(Operation::BrowseByTitle) as f64;
        assert!((0.8..0.98).contains(&hits), "{hits}");
        let waited_s = all.counters.get(LOCK_WAIT) as f64 / 1e9;
        assert!(waited_s > 0.0 && waited_s <= all.ops.iter().map(|op| op.service_sum_s).sum());
        let whole = ended(&all) as f64;
        for operation in Operation::ALL {
            let (found, expected) =
                (count(operation) as f64 / whole, StorePlan::of(&plan).share(operation).get());
            assert!((found / expected - 1.0).abs() < 0.2, "{operation:?}: {found} of {expected}");
        }
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        assert!(!folder.path().join("store.db.run").exists());
    });
}

#[test]
fn a_commit_that_is_lost_after_the_load_is_found_and_the_copy_stays() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = plan(folder.path(), &[]);
        let workload = Store.of_plan(&plan).unwrap();
        fill(workload.as_ref(), &plan).await.unwrap();
        load(workload.as_ref(), &plan, |all| ended(all) >= 200).await;
        let copy = folder.path().join("store.db.run");
        let lost = "DELETE FROM orders WHERE o_id = (SELECT max(o_id) FROM orders)";
        assert_eq!(Connection::open(&copy).unwrap().execute(lost, []), Ok(1));
        let found = verify(workload.as_ref(), &plan).await;
        assert!(
            !found.ok && found.findings.iter().any(|f| f.starts_with("orders since the load")),
            "{found:?}"
        );
        assert!(copy.exists());
        drop(workload);
        // The next run begins anew.
        let again = Store.of_plan(&plan).unwrap();
        assert!(fill(again.as_ref(), &plan).await.unwrap());
        assert!(verify(again.as_ref(), &plan).await.ok);
    });
}

#[test]
fn a_file_that_is_in_use_or_another_is_refused() {
    block(async {
        let folder = TempDir::new().unwrap();
        let one = plan(folder.path(), &[]);
        let first = Store.of_plan(&one).unwrap();
        fill(first.as_ref(), &one).await.unwrap();
        let second = Store.of_plan(&one).unwrap();
        let Err(LoadError::Refused(refused)) = fill(second.as_ref(), &one).await else { panic!("refused") };
        assert!(refused.0[0].allowed.ends_with("which another load or run uses now"), "{refused:?}");
        assert_eq!(first.refusals(&one), []);
        let other = plan(folder.path(), &["seed=2", "driver.count=2", "driver.place=unit"]);
        let refusals = Store.of_plan(&other).unwrap().refusals(&other);
        let keys: Vec<&str> = refusals.iter().map(|refusal| refusal.key.as_str()).collect();
        assert_eq!(keys, ["target.url", "driver.count", "driver.place"]);
        assert!(refusals[0].allowed.contains("was filled otherwise"), "{refusals:?}");
    });
}

#[test]
fn what_is_declared_can_be_judged() {
    let folder = TempDir::new().unwrap();
    for (sets, rules) in [(&[][..], 24), (&["store.new_customers_percent=0"], 20)] {
        let workload = Store.of_plan(&plan(folder.path(), sets)).unwrap();
        let (measures, ops) = (workload.measures(), workload.ops());
        assert_eq!(barograph_model::check_measures(workload.counters(), measures, ops), Ok(()));
        let profile = workload.profile(NAME).unwrap();
        assert_eq!((profile.check(measures, ops), profile.rules.len()), (Ok(()), rules));
        assert_eq!(profile.mix(OpId(5)).map(barograph_model::Bound::limit), Some(0.2));
        assert_eq!(workload.connections(10, barograph_spec::Connections::Keep), 30);
    }
}

/// A driver that is a unit reads the plan, and its target is the web tier.
#[test]
fn a_driver_behind_the_web_tier_knows_the_database_of_the_plan() {
    let text = format!("workload = {NAME:?}\n");
    for (database, scheme) in [("postgres", "postgres"), ("mariadb", "mysql")] {
        let sets = ["store.access=web".to_owned(), format!("deploy.database={database}")];
        let mut plan = barograph_spec::read(Catalogue::of(&[&Store]), "a plan", &text, &sets).unwrap();
        let url = "http://127.0.0.1:80,127.0.0.1:5432";
        plan.target.url = Some(url.to_owned());
        assert_eq!(crate::seam::database_behind(&plan, url), format!("{scheme}://127.0.0.1:5432"));
    }
}
