//! `barograph http` against real servers: figures, verdicts, exit codes, and errors before the start.

use std::fs;
use std::process::Stdio;

use barograph_testkit::{ClosedPort, ListenOptions, Site, SiteProtocols, one_of};
use rustix::process::Signal;
use serde_json::Value;

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// Largest number of searches where other work on the machine can only make answers later.
const TRIES: usize = 3;

/// A server with known answers, without TLS.
pub(crate) fn site() -> Site {
    Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap()
}

/// Runs `barograph http` with these arguments.
pub(crate) fn http(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    let words: Vec<&str> = ["http"].iter().chain(words).copied().collect();
    let mut command = place.program(&words);
    // Its record goes here, so that leftovers are seen.
    command.env("TMPDIR", place.root());
    RunningProgram::start(command).end()
}

/// Result of a completed run. A busy machine may make it invalid, which is not a fault of the program.
pub(crate) fn result(ended: &ProgramOutput, code: i32) -> Value {
    assert!(ended.code == Some(code) || ended.code == Some(9), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    assert_eq!(result["valid"] == false, ended.code == Some(9), "{ended:?}");
    result
}

#[test]
fn a_url_alone_is_measured_and_told() {
    let (place, site) = (TestFolders::without_data(), site());
    let ended = http(&place, &[&site.url("/hello"), "-d", "4s", "-c", "10"]);
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    for words in ["response time", "service time", "start lag p99", "µs CPU per request", "verdict   "] {
        assert!(ended.out.contains(words), "{words} is not in\n{}", ended.out);
    }
    assert!(ended.err.contains("10 users, measured for 4s"), "{}", ended.err);
    let left: Vec<_> = fs::read_dir(place.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.is_empty(), "the record goes with the program: {left:?}");
    assert!(site.requests() > 100);
}

#[test]
fn the_json_is_alone_on_stdout_and_has_its_keys() {
    let (place, site) = (TestFolders::without_data(), site());
    let ended = http(&place, &[&site.url("/hello"), "-d", "5s", "-c", "5", "--json", "-q"]);
    let result = result(&ended, 0);
    assert_eq!(ended.err.lines().filter(|line| !line.contains("debug build")).count(), 0, "{}", ended.err);
    let promised = "requests_per_s cpu_us_per_request rss_mib p50_ms p99_ms p999_ms lag_p99_ms achieved_rate errors late \
        dropped passed valid";
    for key in promised.split_whitespace() {
        assert!(!result[key].is_null(), "{key} is null in\n{}", ended.out);
    }
    let number = |key: &str| result[key].as_f64().unwrap();
    assert!(number("requests_per_s") > 100.0 && number("errors") == 0.0, "{}", ended.out);
    assert!(number("p50_ms") <= number("p99_ms") && number("p99_ms") <= number("max_ms"));
    let counted = number("requests") / number("seconds") / number("requests_per_s");
    assert!((0.99..1.01).contains(&counted), "{}", ended.out);
    assert_eq!((&result["unit"], &result["level"]), (&Value::from("users"), &Value::from(5)));
}

#[test]
fn a_rate_below_one_is_offered_and_told_as_it_was_typed() {
    let (place, site) = (TestFolders::without_data(), site());
    let ended = http(&place, &[&site.url("/hello"), "--rate", "0.5", "-d", "6s", "--warm-up", "0", "--json"]);
    let result = result(&ended, 0);
    assert!(ended.err.contains("0.5 starts/s, measured for 6s"), "{}", ended.err);
    assert_eq!((&result["level"], &result["unit"]), (&0.5.into(), &"starts/s".into()));
    assert!(result["verdict"].as_str().unwrap().starts_with("0.5 starts/s at "), "{}", ended.out);
    let requests = result["requests"].as_u64().unwrap();
    assert!((2..=4).contains(&requests) && site.requests() <= 4, "{}", ended.out);
}

#[test]
fn a_limit_that_does_not_hold_and_failures_end_with_four() {
    let (place, site) = (TestFolders::without_data(), site());
    let slow = http(&place, &[&site.url("/delay/30"), "-d", "4s", "--qos", "p99<5ms", "--json", "-q"]);
    let slow = result(&slow, 4);
    assert_eq!((&slow["passed"], &slow["errors"]), (&Value::from(false), &Value::from(0)));
    let failing = http(&place, &[&site.url("/status/500"), "-d", "4s", "--json", "-q"]);
    let failing = result(&failing, 4);
    assert_eq!((&failing["passed"], &failing["error_share"]), (&Value::from(false), &Value::from(1.0)));
    assert_eq!(failing["outcomes"]["refused"], failing["errors"]);
    // Only failures are not a success, even if all failures are allowed.
    let allowed = http(&place, &[&site.url("/status/500"), "-d", "4s", "--errors", "100%", "--json", "-q"]);
    let allowed = result(&allowed, 4);
    assert_eq!(
        (&allowed["passed"], &allowed["reasons"][0]),
        (&false.into(), &"every operation failed".into())
    );
}

#[test]
fn an_expected_status_is_no_failure_and_the_pause_after_failures_is_told() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/status/404");
    let expected = http(&place, &[&url, "-d", "4s", "-c", "5", "--status", "2xx,404", "--json", "-q"]);
    let expected = result(&expected, 0);
    assert_eq!((&expected["errors"], &expected["failure_pause_s"]), (&0.into(), &1.0.into()));
    let failing = http(&place, &[&url, "-d", "4s", "-c", "5"]);
    assert!(matches!(failing.code, Some(4 | 9)), "{failing:?}");
    assert!(
        failing.out.contains("users paused for 1.00 s after each (--failure-pause)\n"),
        "{}",
        failing.out
    );
    let hasty = http(&place, &[&url, "-d", "4s", "-c", "5", "--failure-pause", "0s", "--json", "-q"]);
    let requests = |ended: &Value| ended["requests"].as_u64().unwrap();
    let hasty = result(&hasty, 4);
    // Five users with pauses of a second start at most 25 requests in the window.
    assert!(requests(&hasty) > 25 && hasty["failure_pause_s"] == 0.0, "{hasty}");
}

#[test]
fn a_time_limit_below_a_second_is_not_rounded() {
    let (place, site) = (TestFolders::without_data(), site());
    let words = ["-d", "4s", "-c", "2", "--timeout", "100ms", "--json", "-q"];
    let url = site.url("/delay/300");
    let ended = http(&place, &[&[url.as_str()], &words[..]].concat());
    let result = result(&ended, 4);
    assert_eq!(result["outcomes"]["timed out"], result["errors"], "{}", ended.out);
    assert!(result["error_share"] == 1.0 && result["errors"].as_u64() > Some(0), "{}", ended.out);
}

#[test]
fn a_search_says_what_it_looks_for_and_what_it_found() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/delay/20");
    let words = [url.as_str(), "--search", "-c", "8", "-d", "1s", "--warm-up", "0s", "--json"];
    one_of(TRIES, || {
        let ended = http(&place, &words);
        assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
        let default = "with p99 < 100 ms and failures < 1.00 %, as no --qos names another";
        assert!(ended.err.contains(default), "{}", ended.err);
        let result: Value = serde_json::from_str(&ended.out).unwrap();
        assert!(result["search"]["trials"].as_u64().unwrap() >= 1, "{}", ended.out);
        if ended.code == Some(0) && result["search"]["highest"] != 8 {
            return Err(format!("answers after 20 ms are within the limit, and it found\n{}", ended.out));
        }
        Ok(())
    });
}

#[test]
fn what_cannot_begin_says_what_to_do() {
    let place = TestFolders::without_data();
    let closed = ClosedPort::new().unwrap();
    let nobody = closed.addr();
    let refused = http(&place, &[&format!("http://{nobody}/"), "-d", "1s"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(3), ""), "{refused:?}");
    let expected = format!(
        "connect to {nobody}: Connection refused (os error 111); is it started, and is this its address?"
    );
    assert!(refused.err.contains(&expected), "{}", refused.err);
    let unknown = http(&place, &["http://no-such-host.invalid/", "-d", "1s"]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.err.contains("no-such-host.invalid"), "{}", unknown.err);
    let wrong = http(&place, &["htp://127.0.0.1/"]);
    let expected = "barograph: read the URL `htp://127.0.0.1/`: unknown scheme `htp`; it is written as in \
        http://127.0.0.1:8080/path\n";
    assert_eq!((wrong.code, wrong.err.as_str()), (Some(2), expected));
    let wrong = http(&place, &["http://127.0.0.1/", "--qos", "p99>5ms"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("a limit is written p99<250ms"), "{}", wrong.err);
}

#[test]
fn a_signal_ends_it_in_order_and_shows_what_was_measured() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/hello");
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = place.program(&["http", &url, "-d", "60s", "--json", "--keep-record", "kept"]);
        command.env("TMPDIR", place.root());
        let going = RunningProgram::start(command);
        going.enters("hold");
        going.signal(signal);
        let ended = going.end();
        assert_eq!(ended.code, Some(7), "{ended:?}");
        let told: Value = serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
        assert!(told["interrupted"] == true && told["seconds"].as_f64() < Some(60.0), "{}", ended.out);
        assert!(told["requests"].as_u64() > Some(0), "{}", ended.out);
    }
    for id in barograph_record::list(&place.root().join("kept")).unwrap() {
        let run = barograph_record::Run::open(&place.root().join("kept").join(id.as_str())).unwrap();
        assert!(run.complete && run.intervals().count() >= 1);
    }
}

#[test]
fn a_signal_before_anything_was_measured_says_so() {
    let (place, site) = (TestFolders::without_data(), site());
    let mut command = place.program(&["http", &site.url("/hello"), "--warm-up", "60s", "--json"]);
    command.env("TMPDIR", place.root());
    let going = RunningProgram::start(command);
    going.enters("warm-up");
    going.signal(Signal::INT);
    let ended = going.end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(7), ""), "{ended:?}");
    assert!(ended.err.contains("stopped before"), "{}", ended.err);
}

/// Exit code and messages of a program that writes its results to `out`.
fn writing_to(place: &TestFolders, words: &[&str], out: Stdio) -> (Option<i32>, String) {
    let mut command = place.program(words);
    command.env("TMPDIR", place.root()).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
    let ended = command.output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn results_that_cannot_be_written_end_with_eight() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/hello");
    for words in [
        &["http", &url, "-d", "2s", "-c", "2", "--json", "-q"][..],
        &["new", "scenario", "--url", "http://127.0.0.1/"],
        &["list", "keys"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let (code, err) = writing_to(&place, words, full.into());
        assert_eq!(code, Some(8), "{words:?}: {err}");
        assert!(
            err.contains("write to standard output\n  because: No space left on device"),
            "{words:?}: {err}"
        );
    }
    // A closed pipe is not an error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(writing_to(&place, &["list", "keys"], writer.into()), (Some(0), String::new()));
}
