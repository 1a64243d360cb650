//! The workload as the harness uses it: fill, load, checks.

mod service;

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

use crate::OrderEntry;
use crate::measures::{NEW_ORDERS, ROLLED_BACK};
use crate::seam::NAME;

const USERS: usize = 3;

fn plan(folder: &Path, sets: &[&str]) -> Plan {
    let sets = [&["order_entry.durability=off"], sets].concat();
    plan_at(&format!("sqlite://{}", folder.join("oe.db").display()), &sets)
}

/// A plan for a small database at an address.
pub(crate) fn plan_at(url: &str, sets: &[&str]) -> Plan {
    let mut all = vec![format!("target.url={url}"), "order_entry.scale=0.01".to_owned()];
    all.extend(sets.iter().map(|set| (*set).to_owned()));
    let text = format!("workload = {NAME:?}\n");
    barograph_spec::read(Catalogue::of(&[&OrderEntry]), "a plan", &text, &all).unwrap()
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

/// Transactions that have ended.
pub(crate) fn ended(all: &Interval) -> u64 {
    all.ops.iter().map(|op| op.count()).sum()
}

/// Lets users work until `is_enough`.
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
        limits: profile.time_limits(5),
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
        let workload = OrderEntry.of_plan(&plan).unwrap();
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 2_000).await;
        let failed: u64 = all.ops.iter().map(|op| op.failed()).sum();
        assert_eq!((failed, workload.failure_reasons()), (0, vec![]));
        let (ordered, rolled_back) = (all.counters.get(NEW_ORDERS), all.counters.get(ROLLED_BACK));
        assert_eq!(ordered + rolled_back, all.ops[0].count());
        assert!(rolled_back > 0 && rolled_back < ordered / 20, "{rolled_back} of {ordered}");
        let writes = [0, 1, 3].map(|op: usize| all.ops[op].count()).iter().sum::<u64>();
        assert_eq!(all.counters.get(WRITES), writes);
        let waited_s = all.counters.get(LOCK_WAIT) as f64 / 1e9;
        assert!(waited_s > 0.0 && waited_s <= all.ops.iter().map(|op| op.service_sum_s).sum());
        // Three users have three decks in progress at the most.
        let shares = all.ops.iter().map(|op| op.count()).zip(crate::user::Transaction::CARDS);
        let decks = all.ops.iter().map(|op| op.count()).sum::<u64>() / 23;
        for (count, cards) in shares {
            let exact = decks * cards as u64;
            assert!(count.abs_diff(exact) <= 3 * cards as u64 + 3, "{count} of {exact}");
        }
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        assert!(!folder.path().join("oe.db.run").exists());
    });
}

#[test]
fn the_profile_of_a_sales_application_has_its_shares() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = plan(folder.path(), &["profile=sales"]);
        let workload = OrderEntry.of_plan(&plan).unwrap();
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 1_000).await;
        let whole = ended(&all) as f64;
        for (op, share) in all.ops.iter().zip([0.32, 0.2, 0.44, 0.04, 0.0]) {
            let found = op.count() as f64 / whole;
            assert!((found - share).abs() < 0.05, "{found} for {share}");
        }
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        let profile = workload.profile("sales").unwrap();
        // Limit and failures of four transactions, and three shares.
        assert_eq!((profile.check(workload.measures(), workload.ops()), profile.rules.len()), (Ok(()), 11));
    });
}

#[test]
fn a_commit_that_is_lost_after_the_load_is_found_and_the_copy_stays() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = plan(folder.path(), &["order_entry.warehouses=2"]);
        let workload = OrderEntry.of_plan(&plan).unwrap();
        fill(workload.as_ref(), &plan).await.unwrap();
        load(workload.as_ref(), &plan, |all| ended(all) >= 50).await;
        let copy = folder.path().join("oe.db.run");
        let lost = "DELETE FROM history WHERE rowid = (SELECT max(rowid) FROM history)";
        assert_eq!(Connection::open(&copy).unwrap().execute(lost, []), Ok(1));
        let found = verify(workload.as_ref(), &plan).await;
        assert!(!found.ok && found.findings.iter().any(|f| f.starts_with("condition 8 ")), "{found:?}");
        assert!(found.findings.iter().any(|f| f.starts_with("payments since the load")), "{found:?}");
        assert!(copy.exists());
        drop(workload);
        // The next run begins anew.
        let again = OrderEntry.of_plan(&plan).unwrap();
        assert!(fill(again.as_ref(), &plan).await.unwrap());
        assert!(verify(again.as_ref(), &plan).await.ok);
    });
}

#[test]
fn a_file_that_is_in_use_or_another_is_refused() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = plan(folder.path(), &[]);
        let first = OrderEntry.of_plan(&plan).unwrap();
        fill(first.as_ref(), &plan).await.unwrap();
        let second = OrderEntry.of_plan(&plan).unwrap();
        let Err(LoadError::Refused(refused)) = fill(second.as_ref(), &plan).await else { panic!("refused") };
        assert!(refused.0[0].allowed.ends_with("which another load or run uses now"), "{refused:?}");
        assert_eq!(first.refusals(&plan), []);
    });
}

#[test]
fn a_plan_for_another_database_is_refused_before_the_run() {
    block(async {
        let folder = TempDir::new().unwrap();
        let one = plan(folder.path(), &[]);
        fill(OrderEntry.of_plan(&one).unwrap().as_ref(), &one).await.unwrap();
        let other = plan(folder.path(), &["seed=2", "driver.count=2", "driver.place=unit"]);
        let refusals = OrderEntry.of_plan(&other).unwrap().refusals(&other);
        let keys: Vec<&str> = refusals.iter().map(|refusal| refusal.key.as_str()).collect();
        assert_eq!(keys, ["target.url", "driver.count", "driver.place"]);
        assert!(refusals[0].allowed.contains("was filled otherwise"), "{refusals:?}");
    });
}

#[test]
fn what_is_declared_can_be_judged() {
    let folder = TempDir::new().unwrap();
    let workload = OrderEntry.of_plan(&plan(folder.path(), &[])).unwrap();
    let (measures, ops) = (workload.measures(), workload.ops());
    assert_eq!(barograph_model::check_measures(workload.counters(), measures, ops), Ok(()));
    let profile = workload.profile(NAME).unwrap();
    assert_eq!((profile.check(measures, ops), profile.rules.len()), (Ok(()), 14));
    let own = OrderEntry.of_plan(&plan(folder.path(), &["order_entry.rules=own"])).unwrap();
    // Failures of each transaction, and no shares.
    assert_eq!(own.profile(NAME).unwrap().rules.len(), 5);
    assert_eq!(profile.mix(OpId(1)).map(barograph_model::Bound::limit), Some(0.43));
    assert_eq!(workload.connections(10, barograph_spec::Connections::Keep), 30);
}
