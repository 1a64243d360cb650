//! Functions of scripts that choose and make values.

use std::path::Path;
use std::sync::Arc;

use barograph_http::{Policy, ResolvedTarget};
use barograph_scenario::Scenario;
use barograph_testkit::Answer;
use barograph_workload_scenario::{Options, Reasons, runnable};

use crate::rig::{RecordingServer, Run, answering, clock};

const TEXT: &str = r#"
    [values.offer]
    kind = "script"
    script = "shop.js"
    function = "offer"
    [values.base]
    kind = "random_int"
    min = 10
    max = 99
    per = "session"
    [operations.Get]
    [[operations.Get.exchanges]]
    path = "/get/{base}/{offer}"
    [operations.Odd]
    [[operations.Odd.exchanges]]
    path = "/odd/{base}"
    [operations.Even]
    [[operations.Even.exchanges]]
    path = "/even/{base}"
    [behaviours.main]
    first = "Get"
    [behaviours.main.next]
    Get = { choose = { script = "shop.js", function = "after", branches = ["Even", "Odd"] } }
    Odd = "end_session"
    Even = "end_session"
"#;

const SCRIPT: &str = r#"
    function offer(base, user) { return (base * 2) + "-" + user + "-" + Math.floor(Math.random() * 1000); }
    function after(base) { return base % 2; }
"#;

fn scenario(script: &'static str) -> Arc<Scenario> {
    let files = |path: &Path| match path.ends_with("shop.js") {
        true => Ok(script.as_bytes().to_vec()),
        false => Err(std::io::Error::other("no such file")),
    };
    Arc::new(barograph_scenario::read("test", TEXT, &files).unwrap_or_else(|refused| panic!("{refused}")))
}

fn run(script: &'static str) -> (RecordingServer, Run) {
    let target = answering(|_| Answer::new(200, ""));
    let run = Run::new(scenario(script), ResolvedTarget::at(target.server.addr(), Policy::PerUser(1)));
    (target, run)
}

#[test]
fn functions_compute_values_and_choose() {
    let (target, run) = run(SCRIPT);
    run.until(|ended| ended.count("Odd") >= 3 && ended.count("Even") >= 3).all_good();
    let paths = target.paths();
    for pair in paths.chunks_exact(2) {
        let parts: Vec<&str> = pair[0].split(['/', '-']).collect();
        let (base, offer): (u64, u64) = (parts[2].parse().unwrap(), parts[3].parse().unwrap());
        assert_eq!((offer, parts[4]), (base * 2, "0"), "{}", pair[0]);
        let next = if base % 2 == 1 { "odd" } else { "even" };
        assert_eq!(pair[1], format!("GET /{next}/{base}"));
    }
}

#[test]
fn a_function_that_fails_is_a_wrong_answer_and_chooses_the_last() {
    let (_target, run) = run("function offer(base) { return base; } function after() { return 7; }");
    let ended = run.until_done("Odd", 2);
    assert_eq!(ended.count("Even"), 0);
    assert_eq!(
        ended.whys("Get"),
        ["the choice of what follows: the function `after` chose branch 7; there are 2, counted from 0"]
    );

    let (_target, run) =
        self::run("function offer() { return missing.thing; } function after() { return 1; }");
    let ended = run.until_done("Get", 1);
    let why = &ended.whys("Get")[0];
    assert!(why.starts_with("the value `offer`: ") && why.contains("shop.js"), "{why}");
    assert_eq!(ended.requests("Get"), 0);
}

#[test]
fn a_function_that_is_missing_is_found_before_the_run() {
    let target = answering(|_| Answer::new(200, ""));
    let resolved = ResolvedTarget::at(target.server.addr(), Policy::PerUser(1));
    let options = Options { clock, reasons: Reasons::shared() };
    let scenario = scenario("function offer() { return 1; }");
    let why = runnable(scenario, resolved, options).err().map(|error| error.to_string()).unwrap();
    assert!(why.starts_with("find the function `after` in `") && why.ends_with("it has: offer"), "{why}");
}
