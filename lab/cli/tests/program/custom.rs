//! A custom target: the ten-line plan of the documentation on a real nginx whose capacity is known, because
//! it refuses requests above it.

use std::fs;
use std::path::Path;

use barograph_record::{Conclusions, FindingRecord, IntervalRow, ResultRecord, Run, Trial};
use barograph_test_services::{self as services, Service};

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// Requests per second that nginx answers; it refuses all others.
const CAPACITY: f64 = 300.0;

/// Uncertainty of the edge: nginx accepts a burst, and windows last only seconds.
const BLUR: f64 = 0.06;

/// Requests sent on time are never refused below the capacity. Requests held up for longer than half of the
/// time to fill the bucket arrive together and overflow it: then driver or nginx stood still, which the
/// longest response time shows.
const STOOD_STILL_MS: f64 = 15.0 / 2.0 / CAPACITY * 1e3;

/// Largest number of searches, if results cannot be judged.
const TRIES: usize = 3;

/// Checks that fail if the driver was late, or the machine was used by others.
const LATE: [&str; 3] = ["driver start lag", "busiest driver worker", "stolen CPU"];

/// Share of the last ten seconds, in percent, in which something on this machine waited for a core, and share
/// of the CPU time taken by a hypervisor: nginx and the driver come near neither with a few hundred requests
/// per second.
const PRESSED: (f64, f64) = (10.0, 0.01);

/// Evidence of one search on the product.
enum SearchJudgement {
    /// The result was compared with the capacity.
    Yes,
    /// A valid trial failed below the capacity, for a reason in the record.
    Excused(String),
    /// The program reports that it is not valid.
    NotValid(String),
}

/// Whether a valid trial failed although its rate was below the capacity: too slow, or refused after a stall.
fn failed_below(trial: &Trial) -> bool {
    trial.result == ResultRecord::Fail && f64::from(trial.level) <= CAPACITY * (1.0 - BLUR)
}

/// Evidence in the record for a stall during this trial.
fn held_up(run: &Run, trial: &Trial) -> Vec<String> {
    let (from, to) = (trial.window.from_s, trial.window.to_s);
    let within = |interval: &&IntervalRow| interval.to_s > from && interval.from_s < to;
    let lag = run.intervals().filter(within).map(|interval| interval.lag_p99_ms).fold(0.0, f64::max);
    let mut told = Vec::new();
    if lag >= STOOD_STILL_MS {
        told.push(format!("operations began {lag:.0} ms late"));
    }
    let checks = run.trials().flat_map(|trial| &trial.window.checks);
    let late = checks.filter(|check| !check.ok && LATE.contains(&check.name.as_str()));
    told.extend(late.map(|check| format!("{} was {}", check.name, check.found)));
    let began = run.load_start_s().unwrap();
    let host = run.probes.iter().filter(|row| row.subject == "host");
    let host = host.filter(|row| row.at_s - began > from && row.at_s - began < to + 1.0);
    told.extend(host.filter_map(|row| {
        let (pressure, stolen) = (row.psi_cpu.unwrap_or(0.0), row.steal_share.unwrap_or(0.0));
        let is_pressed = pressure >= PRESSED.0 || stolen >= PRESSED.1;
        is_pressed.then(|| format!("CPU pressure was {pressure:.0} %, {stolen:.3} of its time was taken"))
    }));
    told
}

/// Searches for the capacity of nginx with the plan, in short windows, and judges the result.
fn searched(nginx: &Service, plan: &Path) -> SearchJudgement {
    let place = TestFolders::without_data();
    let mut command = place.program(&["run"]);
    command.arg(plan).arg("--set").arg(format!("runs={}", place.runs().display()));
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
    let ended = RunningProgram::start(command).end();
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let run = place.record();
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    for words in crate::report::as_shown(&run.verdict().unwrap().sentence) {
        assert!(html.contains(words), "{words}");
    }
    let judged = judged(&run, &ended);
    place.assert_nothing_left();
    judged
}

fn judged(run: &Run, ended: &ProgramOutput) -> SearchJudgement {
    assert!(run.trials().count() >= 2, "{ended:?}");
    let mut excuses = Vec::new();
    // Every valid trial must be correct. Trials spoilt by a busy machine are not valid and do no harm.
    for trial in run.trials() {
        let level = f64::from(trial.level);
        match trial.result {
            ResultRecord::Pass => assert!(level < CAPACITY * (1.0 + BLUR), "{level} passed: {trial:?}"),
            ResultRecord::Fail if failed_below(trial) => {
                let refused: u64 = trial.window.ops.iter().map(|op| op.failed).sum();
                // A machine too busy to answer in time fails by the limit, which is correct as well.
                let was_slow = trial.window.ops.iter().any(|op| op.max_ms >= STOOD_STILL_MS);
                assert!(refused == 0 || was_slow, "{level} failed: {trial:?}");
                let held_up = held_up(run, trial);
                assert!(!held_up.is_empty(), "{level} failed, and the record does not say why: {trial:?}");
                excuses.push(format!("{level} failed: {}", held_up.join(", ")));
            }
            ResultRecord::Fail => {}
            ResultRecord::Invalid => assert!(trial.window.checks.iter().any(|check| !check.ok), "{trial:?}"),
        }
    }
    let verdict = run.verdict().unwrap();
    if ended.code != Some(0) {
        return SearchJudgement::NotValid(verdict.sentence.clone());
    }
    if !excuses.is_empty() {
        return SearchJudgement::Excused(excuses.join("; "));
    }
    let found = verdict.search.as_ref().unwrap();
    let capacity = verdict.capacity.unwrap_or_else(|| panic!("fine, and without an answer: {ended:?}"));
    let capacity = f64::from(capacity);
    let (least, most) = (CAPACITY * (1.0 - BLUR), CAPACITY * (1.0 + BLUR));
    // A search vouches for its interval. If trials were lost to a busy machine it is wide, and the capacity,
    // its median, may be anywhere in it; otherwise the capacity is the limit.
    let estimate = found.estimate.as_ref().unwrap();
    assert!(estimate.low < most, "{estimate:?}: {ended:?}");
    assert!(estimate.high > least || found.at_least, "{estimate:?}: {ended:?}");
    if run.trials().all(|trial| trial.result != ResultRecord::Invalid) {
        assert!((least..most).contains(&capacity), "{ended:?}");
    }
    assert!(found.lowest_fail.is_none_or(|fail| f64::from(fail) > least), "{ended:?}");
    SearchJudgement::Yes
}

#[test]
fn the_capacity_of_an_nginx_with_a_limit_is_found() {
    // A bucket that drains at the rate; overflowing requests are refused.
    let configuration = "worker_processes 1; events { worker_connections 4096; } http { {temp_paths} access_log off; keepalive_requests 1000000;\n\
        limit_req_zone $server_port zone=all:1m rate=300r/s; limit_req_status 503;\n\
        server { listen 127.0.0.1:{port}; location / { limit_req zone=all burst=15 nodelay; root {folder}; try_files /page =404; } } }";
    let Some(nginx) = services::or_skip(services::nginx(configuration, &[("page", b"hello")])) else {
        return;
    };
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/scenario-custom.toml");
    let lines = fs::read_to_string(&plan).unwrap().lines().filter(|line| !line.starts_with('#')).count();
    assert!(lines <= 10, "{lines} lines");
    let (mut excused, mut not_valid) = (Vec::new(), Vec::new());
    while excused.len() + not_valid.len() < TRIES {
        match searched(&nginx, &plan) {
            SearchJudgement::Yes => return,
            SearchJudgement::Excused(why) => excused.push(why),
            SearchJudgement::NotValid(why) => not_valid.push(why),
        }
    }
    // Errors of the product are in every search; if some are not valid, the machine is too busy to tell.
    assert!(!not_valid.is_empty(), "every search is valid, and none could be judged: {excused:#?}");
    services::skip(&format!(
        "no search of {TRIES} could be judged, so nothing is known about the capacity: not valid: {not_valid:?}, \
         excused: {excused:?}"
    ));
}

/// Fewest pairs that can show a difference in two comparisons.
const PAIRS: u32 = 7;

/// The study shown in docs/custom-target.md.
fn shown() -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/custom-target.md");
    let page = fs::read_to_string(docs).unwrap();
    let mut blocks = page.split("```toml\n").filter_map(|rest| rest.split_once("```"));
    blocks.find(|(block, _)| block.starts_with("question")).unwrap().0.to_owned()
}

#[test]
fn a_new_version_that_refuses_half_of_the_load_is_found_to_be_worse() {
    let configuration = "worker_processes 1; events { worker_connections 4096; } http { {temp_paths} access_log off; keepalive_requests 1000000;\n\
        limit_req_zone $server_port zone=half:1m rate=100r/s; limit_req_status 503;\n\
        server { listen 127.0.0.1:{port}; location / { root {folder}; try_files /page =404; } }\n\
        server { listen 127.0.0.1:{port:new}; location / { limit_req zone=half burst=10 nodelay; root {folder}; try_files /page =404; } } }";
    let Some(nginx) = services::or_skip(services::nginx(configuration, &[("page", b"hello")])) else {
        return;
    };
    let place = TestFolders::without_data();
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/scenario-custom.toml");
    let mut study = shown();
    for (from, to) in [
        ("../plans/scenario-custom.toml", plan.display().to_string()),
        ("127.0.0.1:8080", format!("127.0.0.1:{}", nginx.port())),
        ("127.0.0.1:8081", format!("127.0.0.1:{}", nginx.named_port("new"))),
        // The control matters only in real studies.
        ("[settings]", "control = false\n[settings]".to_owned()),
    ] {
        assert!(study.contains(from), "{from}: {study}");
        study = study.replace(from, &to);
    }
    let file = place.root().join("versions.toml");
    fs::write(&file, study).unwrap();
    let mut command = place.program(&["study"]);
    command.arg(&file).arg("--gate");
    for set in
        ["load.ramp_s=0", "load.warm_up_s=1", "load.window_s=2", "load.drain_s=1", "driver.interval_ms=250"]
    {
        command.args(["--set", set]);
    }
    let ended = RunningProgram::start(command).end();
    let json = fs::read_to_string(crate::studies::folder(&place).join("study.json")).unwrap();
    let conclusions: Conclusions = serde_json::from_str(&json).unwrap();
    place.assert_nothing_left();
    let goodput = &conclusions.metrics[0].rows[1];
    if goodput.pairs < PAIRS {
        services::skip(&format!("the machine is too busy: {} of {PAIRS} pairs are valid", goodput.pairs));
        return;
    }
    assert!((0.4..0.6).contains(&goodput.ratio), "half is refused: {goodput:?}");
    assert_eq!((goodput.finding, ended.code), (FindingRecord::Worse, Some(5)), "{ended:?}");
}
