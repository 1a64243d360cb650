//! The whole program against a target with known stalls: its output must equal what follows from them.
//!
//! Beside a test of a module with this name `cargo xtask test` runs only tests of its kind, one for each
//! core, so that other tests do not take the processors away.
//!
//! Answers take 20 ms; an answer due in the last second of every five is sent at the end of that second. A
//! window of two periods sees every phase equally, so the exact distribution is that of starts at all phases.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use barograph_record::Run;
use barograph_test_services::skip;
use barograph_testkit::{Delay, Stalls, TimedServer, Timing, one_of};
use serde_json::Value;
use tempfile::TempDir;

use crate::going::{ProgramOutput, RunningProgram};

/// Number of measurements where other work on the machine can only make times longer.
const TRIES: usize = 5;

const DELAY: Duration = Duration::from_millis(20);
const STALLS: Stalls = Stalls { every: Duration::from_secs(5), lasts: Duration::from_secs(1) };

fn server() -> TimedServer {
    TimedServer::start(Timing::constant(DELAY).stalling(STALLS)).unwrap()
}

/// Runs the program in a folder. A busy machine may make a measurement invalid, which is not a fault of the
/// program.
fn barograph(folder: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_barograph"));
    // Temporary records go here as well.
    command.args(words).current_dir(folder).env("TMPDIR", folder);
    let ended = RunningProgram::start(command).end();
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    ended
}

/// Result of `barograph http` with these arguments.
fn http(server: &TimedServer, words: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let url = server.url("/");
    let ended = barograph(folder.path(), &[&["http", &url, "--json", "-q"], words].concat());
    serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"))
}

/// A measured quantile, and the start lag that the driver reports.
struct QuantileResult {
    quantile: f64,
    ms: f64,
    lag_ms: f64,
}

/// A deviation from the exact result.
#[derive(Debug)]
struct Deviation {
    what: String,
    /// Whether other work on the machine may have caused it.
    may_be_noise: bool,
}

/// Kind of a time. Response times become longer if driver or target wait for a processor, and never shorter.
/// Service times may do either: a late request within a stall waits less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeKind {
    Response,
    Service,
}

/// Deviation beyond the tolerance: 1 % of the exact value, a millisecond for both programs on a busy machine,
/// and the start lag that the driver itself reports.
fn off(of: TimeKind, found: &QuantileResult, exact: &[Duration]) -> Option<Deviation> {
    let expected =
        barograph_testkit::exact(exact.iter().copied(), found.quantile).unwrap().as_secs_f64() * 1e3;
    let allowed = expected * 0.01 + 1.0 + found.lag_ms;
    let name = if of == TimeKind::Response { "response time" } else { "service time" };
    let what = format!(
        "{name} p{}: {} ms, exactly {expected} ms, allowed {allowed} ms",
        found.quantile * 100.0,
        found.ms
    );
    let may_be_noise = of == TimeKind::Service || found.ms > expected;
    ((found.ms - expected).abs() > allowed).then_some(Deviation { what, may_be_noise })
}

/// Measures until nothing deviates. Errors of the program are in every try; other work on the machine differs
/// from try to try.
fn agrees_in_a_try(measure: impl Fn() -> Vec<Deviation>) {
    one_of(TRIES, || {
        let off = measure();
        assert!(off.iter().all(|off| off.may_be_noise), "{off:#?}");
        let what: Vec<String> = off.into_iter().map(|off| off.what).collect();
        if what.is_empty() { Ok(()) } else { Err(what.join("; ")) }
    });
}

/// Start phases over one period, a millisecond apart.
fn phases() -> impl Iterator<Item = Duration> {
    (0..5_000).map(Duration::from_millis)
}

#[test]
fn a_rate_is_kept_whatever_answers_take() {
    let server = TimedServer::start(Timing::constant(Duration::from_millis(300))).unwrap();
    let tries = (0..TRIES).map(|_| http(&server, &["--rate", "100", "-d", "3s"]));
    let mut late = Vec::new();
    for result in tries.filter(|result| result["valid"] == true) {
        let rate = result["achieved_rate"].as_f64().unwrap();
        assert!((97.0..103.0).contains(&rate), "{result}");
        assert_eq!((&result["unit"], &result["dropped"]), (&Value::from("starts/s"), &Value::from(0)));
        let p50 = result["p50_ms"].as_f64().unwrap();
        assert!(p50 >= 299.0, "{result}");
        if p50 < 400.0 {
            return;
        }
        // The server may have waited for a processor, which the program cannot see.
        late.push(p50);
    }
    if late.is_empty() {
        return skip("no try could be believed, so nothing is known about the rate");
    }
    panic!("p50 of answers after 300 ms, in every try that could be believed: {late:?}");
}

#[test]
fn an_open_loop_tells_every_wait_of_a_stall() {
    let exact: Vec<Duration> = phases().map(|start| STALLS.response_at(start, DELAY)).collect();
    agrees_in_a_try(|| {
        let result = http(&server(), &["--rate", "200", "-d", "10s"]);
        let number = |value: &Value| value.as_f64().unwrap();
        let lag_ms = number(&result["lag_p99_ms"]);
        let mut all = Vec::new();
        let quantiles =
            [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p999_ms", 0.999)];
        for (key, quantile) in quantiles {
            let response = QuantileResult { quantile, ms: number(&result[key]), lag_ms };
            all.extend(off(TimeKind::Response, &response, &exact));
            // With a user for every arrival none waits for a user: service time shows the stall, too.
            let service = QuantileResult { quantile, ms: number(&result["service"][key]), lag_ms };
            all.extend(off(TimeKind::Service, &service, &exact));
        }
        let rate = number(&result["achieved_rate"]);
        if !(199.0..=201.0).contains(&rate) {
            all.push(Deviation { what: format!("{rate} starts/s"), may_be_noise: true });
        }
        all
    });
}

/// Response and service times of a user on a beat of 200 ms that makes up for missed beats, over all phases.
fn on_a_beat() -> (Vec<Duration>, Vec<Duration>) {
    let beat = Duration::from_millis(200);
    let (mut response, mut service) = (Vec::new(), Vec::new());
    for phase in (0..200).map(Duration::from_millis) {
        let mut free = Duration::ZERO;
        // The first period is warm-up; the second is counted.
        for n in 0..50u32 {
            let due = phase + beat * n;
            let start = due.max(free);
            free = start + STALLS.response_at(start, DELAY);
            if (25..50).contains(&n) {
                response.push(free - due);
                service.push(free - start);
            }
        }
    }
    (response, service)
}

const SCENARIO: &str = r#"
[target]
url = "http://127.0.0.1:1"

[operations.Get]
qos = { failures = "1 %" }

[[operations.Get.exchanges]]
path = "/"

[behaviours.main]
first = "Get"
pace = { beat = "200 ms", missed = "catch_up" }
next.Get = "Get"
"#;

/// Deviations in one measurement of users on a beat.
fn measured_on_a_beat() -> Vec<Deviation> {
    let (folder, server) = (TempDir::new().unwrap(), server());
    fs::write(folder.path().join("beat.toml"), SCENARIO).unwrap();
    // 41 users start within one second, so that their beats have different phases.
    let text = format!(
        "workload = \"scenario\"\nscenario = \"beat.toml\"\n[load]\nstrategy = \"fixed\"\nusers = 41\nramp_s = 1\n\
         warm_up_s = 4\nwindow_s = 10\ndrain_s = 1\n[target]\nurl = \"{}\"\n",
        server.url("")
    );
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    barograph(folder.path(), &["run", "plan.toml", "--set", "runs=runs"]);
    let records = fs::read_dir(folder.path().join("runs")).unwrap();
    let run = Run::open(&records.last().unwrap().unwrap().path()).unwrap();
    let trial = run.trials().next().unwrap();
    let op = &trial.window.ops[0];
    let lag_ms = trial.window.lag_p99_ms;
    let (response, service) = on_a_beat();
    let mut all = Vec::new();
    for (quantile, ms) in [(0.5, op.p50_ms), (0.9, op.p90_ms), (0.99, op.p99_ms), (0.999, op.p999_ms)] {
        all.extend(off(TimeKind::Response, &QuantileResult { quantile, ms, lag_ms }, &response));
    }
    all.extend(off(
        TimeKind::Service,
        &QuantileResult { quantile: 0.9, ms: op.service_p90_ms, lag_ms },
        &service,
    ));
    if op.p90_ms <= 5.0 * op.service_p90_ms {
        let what = format!(
            "p90 is {} ms and of service {} ms: a closed loop hides the stall from its service times",
            op.p90_ms, op.service_p90_ms
        );
        all.push(Deviation { what, may_be_noise: true });
    }
    all
}

#[test]
fn a_closed_loop_on_a_beat_tells_what_users_waited_and_not_only_what_the_target_took() {
    agrees_in_a_try(measured_on_a_beat);
}

/// Number of users in loads whose target records every answer.
const USERS: usize = 20;

/// Quantiles above those of the server's own answers, beyond the histogram's last digit and the round trip.
/// No quantile may be below.
fn above_what_was_served(delay: Delay) -> Vec<String> {
    let server = TimedServer::start(Timing::of(delay, 7)).unwrap();
    let result = http(&server, &["-c", &USERS.to_string(), "-d", "5s", "--warm-up", "0s"]);
    let served: Vec<Duration> = server.answers().iter().map(|a| a.sent - a.arrived).collect();
    assert!(served.len() > 1_000, "{} answers", served.len());
    let mut above = Vec::new();
    for (key, q) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)] {
        let found = result["service"][key].as_f64().unwrap();
        // The program leaves out answers after its window, one per user: the longest, the shortest, or any.
        // One more, as a rank is an integer.
        let left_out = (USERS + 1) as f64 / served.len() as f64;
        let near = |q: f64| barograph_testkit::exact(served.iter().copied(), q).unwrap().as_secs_f64() * 1e3;
        let rank = q * (1.0 - left_out);
        let (low, high) = (near(rank), near((rank + left_out).min(1.0)));
        let what = format!("{key} is {found} ms, the server's own is {low} to {high} ms");
        assert!(found >= low * 0.999, "{what}");
        if found > high * 1.001 + 1.0 {
            above.push(what);
        }
    }
    above
}

/// Both sides wait for a processor if the host gives it to others, which differs from try to try. Errors of
/// the program are in every try.
fn agrees_with_what_was_served(delay: Delay) {
    one_of(TRIES, || {
        let above = above_what_was_served(delay);
        if above.is_empty() { Ok(()) } else { Err(above.join("; ")) }
    });
}

#[test]
fn constant_delays_are_found() {
    agrees_with_what_was_served(Delay::Constant(Duration::from_millis(12)));
}

#[test]
fn two_kinds_of_delays_are_found() {
    let (quick, slow) = (Duration::from_millis(4), Duration::from_millis(60));
    agrees_with_what_was_served(Delay::Bimodal { quick, slow, slow_share: 0.05 });
}

#[test]
fn a_heavy_tail_is_found() {
    let (least, most) = (Duration::from_millis(2), Duration::from_millis(400));
    agrees_with_what_was_served(Delay::Pareto { least, most, shape: 1.3 });
}
