//! A target of one's own: the plan of ten lines on a real nginx whose capacity is known, because it refuses what is above it.

use std::fs;
use std::path::Path;

use barograph_record::{KeptResult, Trial};
use barograph_testkit::services;

use crate::going::Going;
use crate::place::Place;

/// Requests per second that nginx answers; all others are refused.
const CAPACITY: f64 = 300.0;

/// What nginx lets through in advance, and windows of a few seconds, blur the edge by a few percent.
const BLUR: f64 = 0.06;

/// Requests that come as they are sent are never refused below the capacity. Those that were held up for longer than half of
/// the bucket takes to fill come all at once, and the bucket overflows: then driver or nginx stood still, and the longest
/// response time tells.
const STOOD_STILL_MS: f64 = 15.0 / 2.0 / CAPACITY * 1e3;

/// A believed trial that failed although its rate was below the capacity: too slow, or refused because something stood still.
fn failed_below(trial: &Trial) -> bool {
    trial.result == KeptResult::Fail && f64::from(trial.level) <= CAPACITY * (1.0 - BLUR)
}

#[test]
fn the_capacity_of_an_nginx_with_a_limit_is_found() {
    // A bucket that is emptied at the rate; what overflows is refused.
    let configuration = "worker_processes 1; events { worker_connections 4096; } http { {temp_paths} access_log off; keepalive_requests 1000000;\n\
        limit_req_zone $server_port zone=all:1m rate=300r/s; limit_req_status 503;\n\
        server { listen 127.0.0.1:{port}; location / { limit_req zone=all burst=15 nodelay; root {folder}; try_files /page =404; } } }";
    let Some(nginx) = services::or_skip(services::nginx(configuration, &[("page", b"hello")])) else {
        return;
    };
    let place = Place::without_data();
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/scenario-custom.toml");
    let lines = fs::read_to_string(&plan).unwrap().lines().filter(|line| !line.starts_with('#')).count();
    assert!(lines <= 10, "{lines} lines");
    let mut command = place.program(&["run"]);
    command.arg(&plan).arg("--set").arg(format!("runs={}", place.runs().display()));
    let url = format!("target.url=http://127.0.0.1:{}", nginx.port());
    let short = [
        "load.max_rate=1200",
        "load.ramp_s=6",
        "load.warm_up_s=1",
        "load.window_s=5",
        "load.step_s=1",
        "load.settle_s=1",
        "load.confirm_s=5",
        "load.drain_s=1",
        "driver.interval_ms=250",
    ];
    for set in short.iter().copied().chain([url.as_str()]) {
        command.args(["--set", set]);
    }
    let ended = Going::start(command).end();
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let run = place.record();
    // Whatever could be believed says the truth. What a busy machine spoilt is disbelieved, and no harm is done.
    for trial in run.trials() {
        let level = f64::from(trial.level);
        match trial.result {
            KeptResult::Pass => assert!(level < CAPACITY * (1.0 + BLUR), "{level} passed: {trial:?}"),
            KeptResult::Fail => {
                let refused: u64 = trial.window.ops.iter().map(|op| op.failed).sum();
                // A machine too busy to answer in time fails by the limit, and that is the truth as well.
                let held_up = trial.window.ops.iter().any(|op| op.max_ms >= STOOD_STILL_MS);
                assert!(!failed_below(trial) || refused == 0 || held_up, "{level} failed: {trial:?}");
            }
            KeptResult::Invalid => assert!(trial.window.checks.iter().any(|check| !check.ok), "{trial:?}"),
        }
    }
    assert!(run.trials().count() >= 2, "{ended:?}");
    if run.trials().all(|trial| trial.result == KeptResult::Invalid) {
        services::skip("no trial could be believed, so nothing is known about the capacity");
    }
    let verdict = run.verdict().unwrap();
    let found = verdict.search.as_ref().unwrap();
    let was_slower = run.trials().any(failed_below);
    if was_slower {
        services::skip(
            "a believed trial failed below the limit of nginx, so nothing is known about the capacity",
        );
    }
    if ended.code == Some(0) && !was_slower {
        let capacity = verdict.capacity.unwrap_or_else(|| panic!("fine, and without an answer: {ended:?}"));
        let capacity = f64::from(capacity);
        let (least, most) = (CAPACITY * (1.0 - BLUR), CAPACITY * (1.0 + BLUR));
        // What a search vouches for is its interval. Where trials were lost to a busy machine it is wide, and the capacity, its
        // median, anywhere in it; otherwise the capacity is the limit.
        let estimate = found.estimate.as_ref().unwrap();
        assert!(estimate.low < most, "{estimate:?}: {ended:?}");
        assert!(estimate.high > least || found.at_least, "{estimate:?}: {ended:?}");
        if run.trials().all(|trial| trial.result != KeptResult::Invalid) {
            assert!((least..most).contains(&capacity), "{ended:?}");
        }
        assert!(found.lowest_fail.is_none_or(|fail| f64::from(fail) > least), "{ended:?}");
    }
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    for words in crate::report::as_shown(&verdict.sentence) {
        assert!(html.contains(words), "{words}");
    }
    place.assert_nothing_left();
}
