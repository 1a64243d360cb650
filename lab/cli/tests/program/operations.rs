//! Loads that end after a number of operations: exactly that number.

use std::path::Path;

use barograph_record::Run;
use barograph_test_services::{or_skip, product};
use rustix::process::Signal;
use serde_json::Value;

use crate::going::{ProgramOutput, RunningProgram};
use crate::http::{http, result, site};
use crate::place::TestFolders;

/// Number of operations asked for, their time, and whether the time ended before they did.
fn asked(result: &Value) -> (Option<u64>, Option<f64>, bool) {
    let of = |key: &str| &result[key];
    (of("operations_asked").as_u64(), of("elapsed_s").as_f64(), of("ended_by_time").as_bool().unwrap())
}

#[test]
fn http_ends_after_a_number_of_requests() {
    let (place, site) = (TestFolders::without_data(), site());
    let ended = http(&place, &[&site.url("/hello"), "-n", "301", "-c", "7", "--workers", "2", "--json"]);
    let result = result(&ended, 0);
    assert!(ended.err.contains("7 users, 301 requests\n"), "{}", ended.err);
    let (number, elapsed, by_time) = asked(&result);
    assert_eq!((number, by_time, &result["requests"]), (Some(301), false, &301.into()), "{result}");
    assert_eq!((elapsed, site.requests()), (result["seconds"].as_f64(), 301));
    let per_second = result["requests_per_s"].as_f64().unwrap();
    assert!((per_second * elapsed.unwrap() - 301.0).abs() < 0.01, "{result}");
    assert!(result["verdict"].as_str().unwrap().contains("; 301 operations took "), "{result}");
    let more = http(&place, &[&site.url("/hello"), "--requests", "5", "-c", "50"]);
    assert!(matches!(more.code, Some(0 | 9)), "{more:?}");
    assert!(more.out.contains("5 in ") && site.requests() == 306, "{}", more.out);
}

#[test]
fn the_time_or_a_signal_may_come_first() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/delay/30");
    let late = http(&place, &[&url, "-n", "1000000", "-c", "2", "-d", "1s"]);
    assert!(matches!(late.code, Some(0 | 9)), "{late:?}");
    assert!(late.out.contains("the time was up before 1,000,000 requests had ended\n"), "{}", late.out);
    assert!(late.err.contains("2 users, 1,000,000 requests or 1s\n"), "{}", late.err);
    let mut command = place.program(&["http", &url, "-n", "1000000", "-c", "2", "--json"]);
    command.env("TMPDIR", place.root());
    let going = RunningProgram::start(command);
    going.enters("hold");
    going.signal(Signal::INT);
    let ended: ProgramOutput = going.end();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((asked(&result), &result["interrupted"]), ((Some(1_000_000), None, false), &true.into()));
}

#[test]
fn a_store_gets_a_number_of_commands() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = TestFolders::without_data();
    let words = ["kv", store.url(), "-n", "10007", "-c", "3", "-P", "16", "--keys", "100", "--json", "-q"];
    let ended = RunningProgram::start(place.program(&words)).end();
    let result = result(&ended, 0);
    let counts = result["operations"].as_array().unwrap().iter().map(|op| op["count"].as_u64().unwrap());
    assert_eq!((counts.sum::<u64>(), &result["errors"]), (10_007, &0.into()), "{result}");
    assert!(asked(&result).1.unwrap() > 0.0);
    place.assert_nothing_left();
}

#[test]
fn a_plan_has_a_number_of_operations() {
    let (place, site) = (TestFolders::without_data(), site());
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/scenario-get.toml");
    let url = format!("target.url={}", site.url(""));
    let sets =
        [&url, "load.operations=200", "load.window_s=0", "load.users=5", "load.ramp_s=0", "load.warm_up_s=0"];
    let ended = RunningProgram::start(place.run(Some(&plan), &sets.map(str::to_owned))).end();
    assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
    let run: Run = place.record();
    let trial = run.trials().next().unwrap();
    assert_eq!((trial.operations, trial.window.ended()), (Some(200), 200));
    assert_eq!(trial.elapsed_s(), Some(trial.window.seconds()));
    assert!(
        ended.out.contains("200 operations took ") || ended.err.contains("200 operations took "),
        "{ended:?}"
    );
}
