//! Databases under load in one line.

use std::fs;
use std::path::Path;
use std::process::Command;

use barograph_record::Run;
use barograph_services::find;
use barograph_test_services::{mariadb, or_skip, postgres};
use barograph_testkit::one_of;

use crate::going::RunningProgram;
use crate::http::result;
use crate::place::TestFolders;
use crate::plans::command;
use crate::smoke::Smoke;

#[test]
fn a_server_is_filled_loaded_and_checked_in_one_line() {
    let Some(server) = or_skip(postgres()) else { return };
    let place = TestFolders::without_data();
    // The server takes any password.
    let url = format!("postgres://postgres:s3cret@127.0.0.1:{}/orders", server.port());
    let kept = place.root().join("kept");
    for form in ["statements", "stored"] {
        let words = ["sql", &url, "-n", "300", "-c", "3", "--form", form, "--json", "-q"];
        let mut command = place.program(&words);
        command.args(["--set", "order_entry.scale=0.01"]).arg("--keep-record").arg(&kept);
        let ended = RunningProgram::start(command).end();
        let result = result(&ended, 0);
        let names = result["operations"].as_array().unwrap().iter().map(|op| op["operation"].as_str());
        let all = ["NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel"].map(Some);
        assert_eq!(names.collect::<Vec<_>>(), all, "{result}");
        let (done, failed) = (&result["requests"], &result["errors"]);
        assert_eq!((done.as_u64(), failed.as_u64()), (Some(300), Some(0)), "{result}");
        assert!(result["verdict"].as_str().unwrap().contains("this is no TPC result"), "{result}");
    }
    for record in fs::read_dir(&kept).unwrap() {
        let told = fs::read_to_string(record.unwrap().path().join("run.jsonl")).unwrap();
        assert!(told.contains("postgres:***@127.0.0.1") && !told.contains("s3cret"), "{told}");
    }
    let other = ["sql", &url, "--seed", "2", "-q", "--set", "order_entry.scale=0.01"];
    let ended = RunningProgram::start(place.program(&other)).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.err.contains("was filled otherwise: warehouses = 1, scale = 0.01, seed = 1"),
        "{}",
        ended.err
    );
    assert!(!ended.err.contains("s3cret"), "{}", ended.err);
    place.assert_nothing_left();
}

/// The record of a run of the web store on a server with these keys, and what it has printed.
fn store(place: &TestFolders, server: &str, sets: &[&str]) -> Option<(Run, String)> {
    for service in [server, "haproxy"] {
        or_skip(find(service).unwrap().missing().map_or(Ok(()), Err))?;
    }
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../plans/store-{server}.toml"));
    let sets: Vec<String> =
        Smoke::of(&plan).sets.into_iter().chain(sets.iter().map(|set| (*set).to_owned())).collect();
    let ended = RunningProgram::start(command(place, "run", &plan, &sets)).end();
    let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    place.assert_nothing_left();
    Some((run, ended.out))
}

#[test]
fn instances_have_rows_of_their_own_and_totals() {
    let place = TestFolders::without_data();
    let Some((run, out)) = store(&place, "postgres", &["instances=2"]) else { return };
    assert_eq!(run.load_names(), ["store-1", "store-2"]);
    let parts: Vec<&str> = run.topology().unwrap().parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["store-1-database-1", "store-2-database-1"]);
    let rates = run.rates_of_copies();
    let orders = rates.iter().find(|rate| rate.of == "opm").unwrap();
    let each: Vec<f64> = orders.each.iter().map(|value| value.unwrap()).collect();
    assert!(each.iter().all(|value| *value > 0.0), "{each:?}");
    assert_eq!(orders.total(), Some(each.iter().sum()));
    let sentence = &run.verdict().unwrap().sentence;
    assert!(sentence.contains("All 2 together: ") && sentence.contains("orders per minute"), "{sentence}");
    for row in ["\n store-1 ", "\n store-2 ", "\n all "] {
        assert!(out.contains(row), "{row:?}: {out}");
    }
}

/// What a server that is there already tells a user, who may read everything or not.
#[test]
fn a_server_that_is_there_tells_of_itself() {
    let Some(server) = or_skip(postgres()) else { return };
    let place = TestFolders::without_data();
    let url = |user: &str| format!("postgres://{user}@127.0.0.1:{}/store", server.port());
    let postgres = url("postgres");
    let sql = "CREATE ROLE few LOGIN CREATEDB; REVOKE SELECT ON pg_stat_wal FROM PUBLIC";
    let asked =
        Command::new("psql").args(["-q", "-c", sql, &postgres.replace("/store", "/postgres")]).output();
    assert!(asked.unwrap().status.success());
    for (user, is_told) in [("few", true), ("postgres", false)] {
        let kept = place.root().join(user);
        let url = url(user);
        let words = ["sql", &url, "--workload", "store", "--megabytes", "1", "-c", "3", "-d", "4s", "-q"];
        let mut command = place.program(&words);
        command.arg("--keep-record").arg(&kept);
        let ended = RunningProgram::start(command).end();
        let record = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
        let run = Run::open(&record).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
        let of = |name: &'static str| {
            run.statistics.iter().filter(move |row| row.part == "database" && row.statistic == name)
        };
        assert!(of("commits").any(|row| row.value > 0.0), "{ended:?}");
        assert!(of("state_samples").count() > 0 && of("wal_bytes").count() > 0, "{ended:?}");
        assert_eq!(of("wal_syncs").count() == 0, is_told, "{ended:?}");
        let notes: Vec<&str> = run.notes().map(|(_, note)| note).collect();
        let told = notes.iter().filter(|note| note.contains("permission denied for view pg_stat_wal"));
        assert_eq!(told.count() > 0, is_told, "{notes:?}");
        // The filled database belongs to its user.
        let drop = ["-q", "-c", "DROP DATABASE IF EXISTS store", &postgres.replace("/store", "/postgres")];
        assert!(Command::new("psql").args(drop).output().unwrap().status.success());
    }
    place.assert_nothing_left();
}

#[test]
fn a_standby_that_has_gone_makes_a_run_invalid() {
    let place = TestFolders::without_data();
    let gone = "actions=[{ at_s = 2, unit = \"standby-1\", act = \"kill\" }]";
    let Some((run, out)) = store(&place, "postgres", &["deploy.standby=asynchronous", gone]) else { return };
    let verdict = run.verdict().unwrap();
    assert!(!verdict.valid && verdict.exit_code == 11, "{verdict:?}");
    let wrong = "the standby is not connected, where streaming async is asked for";
    assert!(verdict.doubts.iter().any(|doubt| doubt.contains(wrong)), "{verdict:?}\n{out}");
    let durability = &run.tiers()[0].durability;
    assert!(durability.ends_with(", standby streaming async"), "{durability}");
}

#[test]
fn sessions_of_mariadb_go_through_haproxy() {
    let place = TestFolders::without_data();
    let Some((run, out)) = store(&place, "mariadb", &["deploy.balancer=haproxy"]) else { return };
    let parts: Vec<&str> = run.topology().unwrap().parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["balancer-1", "database-1"]);
    let failed: u64 = run.intervals().flat_map(|interval| &interval.ops).map(|op| op.failed).sum();
    assert_eq!(failed, 0, "{out}");
    // Those of the three users.
    let sessions =
        run.statistics.iter().filter(|row| row.part == "balancer-1" && row.statistic == "sessions");
    let most = sessions.map(|row| row.value).fold(0.0, f64::max);
    assert!((most - 3.0).abs() < f64::EPSILON, "{most}: {out}");
}

/// Kills a server of its own under a small load, with its data on a disk: below /dev/shm MariaDB maps its log, and
/// a kill loses nothing. Returns the exit code, and what was printed in one line.
fn killed(place: &TestFolders, kills: &str, words: &[&str]) -> (Option<i32>, String) {
    let small = ["--kills", kills, "-c", "4", "-q", "--set", "order_entry.scale=0.01"];
    let mut command = place.program(&[&["sql"], words, &small].concat());
    command.env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    let ended = RunningProgram::start(command).end();
    let printed = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    (ended.code, format!("{printed} {}", ended.err))
}

#[test]
fn every_acknowledged_commit_is_there_after_a_kill() {
    if or_skip(postgres()).is_none() || or_skip(mariadb()).is_none() {
        return;
    }
    let place = TestFolders::without_data();
    for product in ["postgres", "mariadb"] {
        let (code, printed) = killed(&place, "1", &[product]);
        // A busy machine makes the run invalid for other reasons.
        assert!(matches!(code, Some(0 | 9)) && !printed.contains("after the run"), "{code:?} {printed}");
        assert!(printed.contains("killed once") && printed.contains("broken connection"), "{printed}");
    }
    let (code, printed) = killed(&place, "1", &["postgres://me@h/orders"]);
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("with --kills the address is postgres or mariadb"), "{printed}");
    place.assert_nothing_left();
}

#[test]
fn commits_that_a_kill_has_lost_are_counted() {
    if or_skip(postgres()).is_none() || or_skip(mariadb()).is_none() {
        return;
    }
    let place = TestFolders::without_data();
    for product in ["postgres", "mariadb"] {
        // A log that was written just before a kill has nothing to lose.
        one_of(3, || {
            let (code, printed) = killed(&place, "3", &[product, "--durability", "off"]);
            let is_found =
                code == Some(11) && printed.contains("orders since the load, by the driver's count:");
            if is_found && printed.contains(" lost ") { Ok(()) } else { Err(format!("{code:?} {printed}")) }
        });
    }
    place.assert_nothing_left();
}
