//! `barograph http` against real servers: figures, verdicts, exit codes, and what it says when it cannot begin.

use std::fs;

use barograph_testkit::{Closed, Door, Site, Speaks, one_of};
use rustix::process::Signal;
use serde_json::Value;

use crate::going::{Ended, Going};
use crate::place::Place;

/// How often it is searched where whatever else runs on the machine can only make answers later.
const TRIES: usize = 3;

/// A server with known answers, in the clear.
pub(crate) fn site() -> Site {
    Site::start(Door::v4(), Speaks::Http1).unwrap()
}

/// Runs `barograph http` with these words.
pub(crate) fn http(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["http"].iter().chain(words).copied().collect();
    let mut command = place.program(&words);
    // Its record goes here, so that what it leaves behind is seen.
    command.env("TMPDIR", place.root());
    Going::start(command).end()
}

/// The result of a run that came to its end. A busy machine may make it unbelievable, which is no fault of the program.
pub(crate) fn result(ended: &Ended, code: i32) -> Value {
    assert!(ended.code == Some(code) || ended.code == Some(9), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    assert_eq!(result["valid"] == false, ended.code == Some(9), "{ended:?}");
    result
}

#[test]
fn a_url_alone_is_measured_and_told() {
    let (place, site) = (Place::without_data(), site());
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
    let (place, site) = (Place::without_data(), site());
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
fn a_limit_that_does_not_hold_and_failures_end_with_four() {
    let (place, site) = (Place::without_data(), site());
    let slow = http(&place, &[&site.url("/delay/30"), "-d", "4s", "--qos", "p99<5ms", "--json", "-q"]);
    let slow = result(&slow, 4);
    assert_eq!((&slow["passed"], &slow["errors"]), (&Value::from(false), &Value::from(0)));
    let failing = http(&place, &[&site.url("/status/500"), "-d", "4s", "--json", "-q"]);
    let failing = result(&failing, 4);
    assert_eq!((&failing["passed"], &failing["error_share"]), (&Value::from(false), &Value::from(1.0)));
    assert_eq!(failing["outcomes"]["refused"], failing["errors"]);
    let allowed = http(&place, &[&site.url("/status/500"), "-d", "4s", "--errors", "100%", "--json", "-q"]);
    assert_eq!(result(&allowed, 0)["passed"], true);
}

#[test]
fn a_search_says_what_it_looks_for_and_what_it_found() {
    let (place, site) = (Place::without_data(), site());
    let url = site.url("/delay/20");
    let words = [url.as_str(), "--search", "-c", "8", "-d", "1s", "--warm-up", "0s", "--json"];
    one_of(TRIES, || {
        let ended = http(&place, &words);
        assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
        let default = "with p99 < 100ms and failures < 1.00 %, as no --qos names another";
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
    let place = Place::without_data();
    let closed = Closed::new().unwrap();
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
fn an_interrupt_ends_it_in_order() {
    let (place, site) = (Place::without_data(), site());
    let mut command = place.program(&["http", &site.url("/hello"), "-d", "60s", "--keep-record", "kept"]);
    command.env("TMPDIR", place.root());
    let going = Going::start(command);
    going.enters("hold");
    going.signal(Signal::INT);
    let ended = going.end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(7), ""), "{ended:?}");
    let ids = barograph_record::list(&place.root().join("kept")).unwrap();
    let run = barograph_record::Run::open(&place.root().join("kept").join(ids[0].as_str())).unwrap();
    assert!(run.complete && run.interrupted().is_some() && run.intervals().count() >= 1);
}
