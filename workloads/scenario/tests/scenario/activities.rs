//! Activities that users start beside their main one, and how they end.

use std::collections::BTreeSet;

use barograph_model::Outcome;
use barograph_testkit::{Answer, Request, one_of};

use crate::rig::answering;

const FOLLOW: &str = r#"
    [values.room]
    kind = "sequence"
    start = 1
    [operations.Join]
    start = { behaviour = "follow", argument = "room {room}", at_most = 2 }
    [[operations.Join.exchanges]]
    path = "/join/{room}/{activities}"
    [operations.Leave]
    stop_others = "activities >= 2"
    [[operations.Leave.exchanges]]
    path = "/leave/{activities}"
    [operations.Poll]
    end = "state == 'closed'"
    [[operations.Poll.exchanges]]
    path = "/poll/{argument}/{seen}"
    when = "has(seen)"
    wait = true
    extract.state = { json = "/state", keep = "activity" }
    extract.seen = { json = "/n", keep = "activity" }
    [[operations.Poll.exchanges]]
    path = "/first/{argument}"
    when = "not has(seen)"
    extract.seen = { json = "/n", keep = "activity" }
"#;

fn room(request: &Request) -> Answer {
    let state =
        if request.path.starts_with("/poll") && request.n.is_multiple_of(7) { "closed" } else { "open" };
    Answer::new(200, format!("{{\"n\": {}, \"state\": \"{state}\"}}", request.n))
}

#[test]
fn followers_have_their_own_argument_and_values_and_end_themselves() {
    let target = answering(room);
    let run = target.run(&format!(
        "{FOLLOW}\n[behaviours.main]\nfirst = \"Join\"\npace = {{ think = \"5 ms\" }}\nnext = {{ Join = \"Join\" }}\n\
         [behaviours.follow]\nfirst = \"Poll\"\npace = {{ think = \"2 ms\" }}\nnext = {{ Poll = \"Poll\" }}\n"
    ));
    // The lifetime of a room depends on the mix of all requests: until two were open, and three in all.
    let mixed = || {
        let paths = target.paths();
        let firsts: BTreeSet<&String> = paths.iter().filter(|p| p.contains("/first/")).collect();
        firsts.len() > 2 && paths.iter().any(|p| p.contains("/join/") && p.ends_with("/2"))
    };
    let ended = run.until(|ended| ended.count("Poll") >= 60 && ended.count("Join") >= 20 && mixed());
    ended.all_good();
    let paths = target.paths();
    // Never more than two at once, and others begin when some have ended.
    let counts: BTreeSet<&str> =
        paths.iter().filter(|p| p.contains("/join/")).filter_map(|p| p.rsplit('/').next()).collect();
    assert!(counts.contains("2") && counts.iter().all(|n| ["0", "1", "2"].contains(n)), "{counts:?}");
    let rooms: BTreeSet<&str> =
        paths.iter().filter(|p| p.contains("/first/")).filter_map(|p| p.rsplit('/').next()).collect();
    assert!(rooms.len() > 2 && rooms.contains("room%201"), "{rooms:?}");
    // Extracted values belong to the activity: every poll names a number from an earlier answer to the same
    // room.
    let asked = target.asked.lock().unwrap();
    for request in asked.iter().filter(|r| r.path.starts_with("/poll/")) {
        let mut parts = request.path.rsplit('/');
        let (seen, room) = (parts.next().unwrap().parse::<u64>().unwrap(), parts.next().unwrap());
        let before = asked.iter().find(|r| r.n == seen).unwrap();
        assert!(before.path.contains(room), "{} after {}", request.path, before.path);
    }
}

#[test]
fn others_are_stopped_and_can_be_started_again() {
    let target = answering(room);
    let run = target.run(&format!(
        "{FOLLOW}\n[behaviours.main]\nfirst = \"Join\"\npace = {{ think = \"4 ms\" }}\nnext = {{ Join = {{ choose = [\n\
         {{ when = \"activities < 2\", next = \"Join\" }}, {{ else = \"Leave\" }}] }}, Leave = \"Join\" }}\n\
         [behaviours.follow]\nfirst = \"Poll\"\npace = {{ think = \"1 h\" }}\nnext = {{ Poll = \"Poll\" }}\n"
    ));
    let ended = run.until_done("Leave", 5);
    ended.all_good();
    let paths = target.paths();
    let mains: Vec<&str> = paths.iter().map(String::as_str).filter(|p| !p.contains("/first/")).collect();
    let wanted =
        ["GET /join/1/0", "GET /join/2/1", "GET /leave/2", "GET /join/3/0", "GET /join/4/1", "GET /leave/2"];
    assert_eq!(mains[..6], wanted);
}

/// Lets waits run out; fails unless the user was reset each time before its next look.
fn begins_again_before_it_looks() -> Result<(), String> {
    let target = answering(|request| match request.path.as_str() {
        "/in" => Answer::new(200, "").with("set-cookie", "k=1"),
        "/wait" => Answer::new(408, ""),
        _ => Answer::new(200, ""),
    });
    let run = target.run(
        r#"
        [operations.In]
        start = { behaviour = "follow" }
        [[operations.In.exchanges]]
        path = "/in"
        [operations.Look]
        [[operations.Look.exchanges]]
        path = "/look/{activities}"
        [operations.Wait]
        reset = "outcome == 'expired'"
        [[operations.Wait.exchanges]]
        path = "/wait"
        wait = true
        [behaviours.main]
        first = "In"
        pace = { think = "100 ms" }
        next = { In = "Look", Look = "Look" }
        [behaviours.follow]
        first = "Wait"
        next = { Wait = "Wait" }
        "#,
    );
    let ended = run.until(|ended| ended.outcome("Wait", Outcome::Expired) >= 3);
    ended.all_good();
    let asked = target.asked.lock().unwrap();
    // Each session begins without the cookie of the one before.
    assert!(asked.iter().filter(|r| r.path == "/in").all(|r| r.header("cookie").is_none()));
    assert!(asked.iter().filter(|r| r.path == "/in").count() >= 3);
    match asked.iter().find(|r| r.path.starts_with("/look/") && r.path != "/look/0") {
        None => Ok(()),
        Some(look) => Err(format!("the user looked with a wait that had run out: {}", look.path)),
    }
}

#[test]
fn a_wait_that_runs_out_starts_the_user_over() {
    // If the answer to a wait comes later than the next look is due, the user looks while it waits.
    one_of(10, begins_again_before_it_looks);
}

#[test]
fn what_is_asked_beside_is_asked_after_a_timeout_too() {
    let script = |request: &Request| match request.path.as_str() {
        "/never" => barograph_testkit::Act::Stall,
        _ => barograph_testkit::Act::Answer(Answer::new(200, "")),
    };
    let server = barograph_testkit::Server::start(std::sync::Arc::new(script)).unwrap();
    let text = r#"
        [operations.In]
        start = { behaviour = "follow", at_most = 1 }
        [[operations.In.exchanges]]
        path = "/in/{activities}"
        [operations.Wait]
        end = "outcome == 'timed out'"
        [[operations.Wait.exchanges]]
        path = "/never"
        [behaviours.main]
        first = "In"
        pace = { think = "10 ms" }
        next = { In = "In" }
        [behaviours.follow]
        first = "Wait"
        pace = { think = "1 h" }
        next = { Wait = "Wait" }
        "#;
    let run = crate::rig::Run::at(text, &server.url(""));
    let run = crate::rig::Run { timeout: barograph_model::Nanos::from_millis(150), ..run };
    // The follower waits for an hour after its operation unless it ends; only then is there a second one.
    let ended = run.until(|ended| ended.outcome("Wait", Outcome::TimedOut) >= 3);
    assert_eq!(ended.count("Wait"), ended.outcome("Wait", Outcome::TimedOut));
}
