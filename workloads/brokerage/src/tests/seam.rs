//! The workload as the harness uses it: fill, load, checks.

use std::sync::Arc;

use barograph_engine::Settings;
use barograph_model::{Bound, Nanos};
use barograph_spec::{Catalogue, Connections, Plan};
use barograph_stats::Interval;
use barograph_workload::{LoadError, LoadJob, VerifyResult, Workload, WorkloadFactory as _};
use tempfile::TempDir;

use crate::Brokerage;
use crate::measures::{BACKLOG, COMPLETED_ORDERS};
use crate::seam::NAME;
use crate::user::Transaction;

const USERS: usize = 3;

/// A plan for a small database at an address.
pub(crate) fn plan_at(url: &str, sets: &[&str]) -> Plan {
    let small = ["brokerage.customers=100", "brokerage.trades=8", "brokerage.days=20"];
    let mut all = vec![format!("target.url={url}")];
    all.extend(small.iter().chain(sets).map(|set| (*set).to_owned()));
    barograph_spec::read(Catalogue::of(&[&Brokerage]), "a plan", &format!("workload = {NAME:?}\n"), &all)
        .unwrap()
}

/// The address of the target.
fn url<'a>(workload: &'a dyn Workload, plan: &'a Plan) -> &'a str {
    workload.target().or(plan.target.url.as_deref()).unwrap()
}

/// Fills, and says whether an earlier fill was found.
pub(crate) async fn fill(workload: &dyn Workload, plan: &Plan) -> Result<bool, LoadError> {
    let job = LoadJob { url: url(workload, plan), plan, data: None };
    workload.prepare(&job, Arc::new(|_| {})).unwrap().await.map(|filled| filled.reused)
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
    let settings = Settings {
        workers: USERS,
        seed: plan.seed,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: workload.profile(NAME).unwrap().time_limits(Transaction::ALL.len()),
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
fn a_load_is_counted_holds_its_mix_and_leaves_right_data() {
    block(async {
        let folder = TempDir::new().unwrap();
        let file = format!("sqlite://{}", folder.path().join("brokerage.db").display());
        let plan = plan_at(&file, &["brokerage.durability=off"]);
        let workload = Brokerage.of_plan(&plan).unwrap();
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 5_000).await;
        let failed: u64 = all.ops.iter().map(|op| op.failed()).sum();
        assert_eq!((failed, workload.failure_reasons()), (0, vec![]));
        let count = |transaction: Transaction| all.ops[transaction as usize].count();
        assert_eq!(all.counters.get(COMPLETED_ORDERS), count(Transaction::CompleteOrder));
        let backlog = all.counters.get(BACKLOG) as f64 / ended(&all) as f64;
        assert!(backlog > 0.5 && backlog < 100.0, "{backlog}");
        for (transaction, cards) in Transaction::ALL.into_iter().zip(Transaction::CARDS) {
            let share = count(transaction) as f64 / ended(&all) as f64;
            assert!((share * 1_000.0 / cards as f64 - 1.0).abs() < 0.2, "{transaction:?}: {share}");
        }
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        assert!(!folder.path().join("brokerage.db.run").exists());
        assert!(fill(Brokerage.of_plan(&plan).unwrap().as_ref(), &plan).await.is_err(), "it is in use");
    });
}

#[test]
fn what_is_declared_can_be_judged() {
    let plan = plan_at("sqlite:///nowhere/brokerage.db", &[]);
    let workload = Brokerage.of_plan(&plan).unwrap();
    let (measures, ops) = (workload.measures(), workload.ops());
    assert_eq!(barograph_model::check_measures(workload.counters(), measures, ops), Ok(()));
    let profile = workload.profile(NAME).unwrap();
    assert_eq!((profile.check(measures, ops), profile.rules.len()), (Ok(()), 30));
    let mix = profile.mix(Transaction::PlaceOrder.op()).map(Bound::limit);
    assert!(mix.is_some_and(|share| (share - 0.101).abs() < 1e-9), "{mix:?}");
    assert_eq!((workload.profile("other"), workload.connections(10, Connections::Keep)), (None, 30));
    assert!(workload.notice().unwrap().contains("no TPC result"));
    assert!(workload.disclose()["brokerage"]["market"].as_str().unwrap().contains("1 to 40 operations"));
}
