//! The workload as the harness uses it, on a SQLite file: fill, load, checks.

use std::path::Path;
use std::sync::Arc;

use barograph_database::measures::STATEMENTS;
use barograph_engine::Settings;
use barograph_model::{Nanos, Outcome};
use barograph_spec::{Catalogue, Plan};
use barograph_stats::Interval;
use barograph_workload::{LoadError, LoadJob, VerifyResult, Workload, WorkloadFactory as _};
use rusqlite::Connection;
use tempfile::TempDir;

use super::files::SCENARIOS;
use crate::Statements;
use crate::seam::NAME;

const USERS: usize = 3;

/// A plan of a file that comes with the program.
pub(super) fn plan(url: &str, script: &str, sets: &[&str]) -> Plan {
    let mut all = vec![
        format!("target.url={url}"),
        format!("statements.script=\"{SCENARIOS}/{script}.toml\""),
        "statements.durability=off".to_owned(),
    ];
    all.extend(sets.iter().map(|set| (*set).to_owned()));
    let text = format!("workload = {NAME:?}\n");
    barograph_spec::read(Catalogue::of(&[&Statements]), "a plan", &text, &all).unwrap()
}

fn of_file(folder: &Path, script: &str, sets: &[&str]) -> Plan {
    plan(&format!("sqlite://{}", folder.join("bank.db").display()), script, sets)
}

/// The address of the target.
fn url<'a>(workload: &'a dyn Workload, plan: &'a Plan) -> &'a str {
    workload.target().or(plan.target.url.as_deref()).unwrap()
}

/// Fills, and says whether an earlier fill was found.
pub(super) async fn fill(workload: &dyn Workload, plan: &Plan) -> Result<bool, LoadError> {
    let job = LoadJob { url: url(workload, plan), plan, data: None };
    let filling = workload.prepare(&job, Arc::new(|_| {})).unwrap();
    filling.await.map(|filled| filled.reused)
}

/// The load of some users until this number of operations has ended.
pub(super) async fn load(workload: &dyn Workload, plan: &Plan, enough: u64) -> Interval {
    let job = LoadJob { url: url(workload, plan), plan, data: None };
    let profile = workload.profile(NAME).unwrap();
    let settings = Settings {
        workers: USERS,
        seed: plan.seed,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: profile.time_limits(workload.ops().len()),
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
    while all.ops.iter().map(|op| op.count()).sum::<u64>() < enough {
        all.append(&load.next().await.unwrap().unwrap());
    }
    load.stop(Nanos::from_secs(60)).await;
    while let Some(next) = load.next().await.unwrap() {
        all.append(&next);
    }
    all
}

pub(super) async fn verify(workload: &dyn Workload, plan: &Plan) -> VerifyResult {
    workload.application().unwrap().verify(url(workload, plan)).unwrap().await.unwrap()
}

pub(super) fn block<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

/// Fills, loads and checks, and counts the statements of a transaction.
pub(super) async fn carried(plan: &Plan, statements: u64) {
    let workload = Statements.of_plan(plan).unwrap();
    assert!(!fill(workload.as_ref(), plan).await.unwrap());
    let all = load(workload.as_ref(), plan, 300).await;
    let [op] = &all.ops[..] else { panic!("one transaction") };
    assert_eq!((op.failed(), workload.failure_reasons()), (0, vec![]));
    let more = all.counters.get(STATEMENTS) - op.outcomes[Outcome::Good.index()] * statements;
    // Transactions begin and end, and a retry does a part of the statements again.
    let most = op.count() * (2 + (statements + 2) / 4);
    assert!(more <= most, "{more} more statements than {}", op.count());
    assert_eq!(verify(workload.as_ref(), plan).await, VerifyResult { ok: true, findings: vec![] });
    drop(workload);
    assert!(fill(Statements.of_plan(plan).unwrap().as_ref(), plan).await.unwrap());
}

#[test]
fn all_files_run_on_sqlite_and_their_data_are_right() {
    for (script, statements) in [
        ("pgbench", 5),
        ("pgbench-select", 1),
        ("sysbench-point-select", 1),
        ("sysbench-read-only", 14),
        ("sysbench-read-write", 18),
    ] {
        let folder = TempDir::new().unwrap();
        block(carried(&of_file(folder.path(), script, &[]), statements));
        assert!(folder.path().join("bank.db").exists());
    }
}

#[test]
fn a_lost_commit_is_found() {
    block(async {
        let folder = TempDir::new().unwrap();
        let plan = of_file(folder.path(), "pgbench", &[]);
        let workload = Statements.of_plan(&plan).unwrap();
        fill(workload.as_ref(), &plan).await.unwrap();
        load(workload.as_ref(), &plan, 100).await;
        let copy = Connection::open(folder.path().join("bank.db.run")).unwrap();
        let lost = "DELETE FROM pgbench_history WHERE rowid = (SELECT max(rowid) FROM pgbench_history WHERE delta <> 0)";
        assert_eq!(copy.execute(lost, []), Ok(1));
        let VerifyResult { ok, findings } = verify(workload.as_ref(), &plan).await;
        assert!(!ok && findings.len() == 2, "{findings:?}");
        assert!(findings[0].contains("have the same sum\" does not hold in 1 place"), "{findings:?}");
        assert!(findings[1].starts_with("rows of history, by the driver's count: "), "{findings:?}");
    });
}

#[test]
fn a_database_of_the_user_is_used_as_it_is() {
    block(async {
        let folder = TempDir::new().unwrap();
        let own = Connection::open(folder.path().join("bank.db")).unwrap();
        own.execute_batch(
            "CREATE TABLE pgbench_accounts (aid INTEGER PRIMARY KEY, bid INTEGER, abalance INTEGER, filler TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
             INSERT INTO pgbench_accounts SELECT i, 1, 7, '' FROM n",
        )
        .unwrap();
        drop(own);
        let plan = of_file(folder.path(), "pgbench-select", &["statements.fill=false"]);
        let workload = Statements.of_plan(&plan).unwrap();
        assert_eq!(workload.refusals(&plan), []);
        assert!(fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, 100).await;
        assert_eq!((all.ops[0].failed(), workload.failure_reasons()), (0, vec![]));
        assert!(verify(workload.as_ref(), &plan).await.ok);
        assert!(folder.path().join("bank.db").exists() && !folder.path().join("bank.db.run").exists());
    });
}

#[test]
fn what_is_declared_can_be_judged() {
    let folder = TempDir::new().unwrap();
    let plan = of_file(folder.path(), "pgbench", &["statements.rules=own", "statements.limit_ms=5"]);
    let workload = Statements.of_plan(&plan).unwrap();
    let (measures, ops) = (workload.measures(), workload.ops());
    assert_eq!(barograph_model::check_measures(workload.counters(), measures, ops), Ok(()));
    let profile = workload.profile(NAME).unwrap();
    assert_eq!((profile.check(measures, ops), profile.rules.len()), (Ok(()), 2));
    assert_eq!(
        workload.explain().unwrap(),
        "data      1 rows of pgbench_branches\ndata      10 rows of pgbench_tellers\n\
         data      100,000 rows of pgbench_accounts\ndata      0 rows of pgbench_history\n\
         mix       100 % Transfer: books an amount to an account, a teller and a branch (5 statements)\n"
    );
    let sent = workload.files().unwrap();
    assert_eq!(Statements.of_files(&plan, &sent).unwrap().ops(), ops);
    for (set, words) in [
        ("statements.script=\"no.toml\"", "a file that can be read"),
        ("statements.fill=true", "false for a file without tables"),
    ] {
        let bare = folder.path().join("bare.toml");
        std::fs::write(
            &bare,
            "[[transactions]]\nname = \"A\"\n[[transactions.statements]]\nsql = \"SELECT 1\"\n",
        )
        .unwrap();
        let bare = format!("statements.script=\"{}\"", bare.display());
        let plan = of_file(folder.path(), "pgbench", &[&bare, set]);
        let why = Statements.of_plan(&plan).map(drop).unwrap_err();
        assert!(barograph_model::words::in_one_line(&why).contains(words), "{why}");
    }
}
