//! Redirects: repeated parts of the request, their destinations, and the end of a chain.

use barograph_model::Outcome;
use barograph_testkit::{Answer, Request};

use crate::rig::{RecordingServer, RunResult, answering};

/// Runs one exchange with these keys, which follows up to three redirects.
fn followed(target: &RecordingServer, keys: &str) -> RunResult {
    let text = format!(
        "[target]\ncookies = false\nredirects = 3\n[operations.Go]\n[[operations.Go.exchanges]]\npath = \"/a\"\n{keys}\n"
    );
    target.run(&text).until_done("Go", 1)
}

/// The first requests, a line each: method, path, body and credentials.
fn asked(target: &RecordingServer, count: usize) -> Vec<String> {
    let line = |r: &Request| {
        let secret = r.header("authorization").unwrap_or("-");
        format!("{} {} {:?} {secret}", r.method, r.path, String::from_utf8_lossy(&r.body))
    };
    target.asked.lock().unwrap().iter().take(count).map(line).collect()
}

fn to(status: u16, location: &str) -> Answer {
    Answer::new(status, "").with("location", location)
}

#[test]
fn a_chain_is_one_operation_and_its_requests_are_counted_apart() {
    let target = answering(|r| match r.path.as_str() {
        "/a" => to(302, "b/c?d"),
        "/b/c?d" => to(307, "../e"),
        _ => Answer::new(200, "end"),
    });
    let ended = followed(&target, "check = { contains = \"end\" }");
    ended.all_good();
    assert_eq!(target.paths()[..3], ["GET /a", "GET /b/c?d", "GET /e"]);
    assert_eq!(ended.requests("Go"), 3 * ended.count("Go"));
}

#[test]
fn the_status_says_whether_method_and_body_stay() {
    for (status, method, second) in [
        (301, "POST", "GET /b \"\" -"),
        (302, "POST", "GET /b \"\" -"),
        (303, "PUT", "GET /b \"\" -"),
        (301, "PUT", "PUT /b \"hi\" -"),
        (307, "POST", "POST /b \"hi\" -"),
        (308, "PATCH", "PATCH /b \"hi\" -"),
    ] {
        let target = answering(move |r| if r.path == "/a" { to(status, "/b") } else { Answer::new(200, "") });
        followed(&target, &format!("method = \"{method}\"\nbody = \"hi\"")).all_good();
        assert_eq!(asked(&target, 2)[1], second, "{status} {method}");
        let second = target.asked.lock().unwrap()[1].clone();
        assert_eq!(second.header("content-type").is_some(), second.method != "GET", "{status} {method}");
    }
}

#[test]
fn credentials_stay_with_the_first_origin() {
    let other = answering(|r| to(302, r.path.strip_prefix("/back?").unwrap_or("/")));
    let away = format!("http://{}/back?", other.server.addr());
    let target = answering(move |r| match r.path.as_str() {
        "/a" => to(302, &format!("{away}http://{}/end", r.header("x-own").unwrap())),
        _ => Answer::new(200, ""),
    });
    let own = target.server.addr();
    let headers = format!("headers = {{ authorization = \"me\", x-own = \"{own}\", cookie = \"a=b\" }}");
    followed(&target, &headers).all_good();
    assert_eq!(asked(&target, 2), ["GET /a \"\" me", "GET /end \"\" me"]);
    let there = other.asked.lock().unwrap()[0].clone();
    assert_eq!((there.header("authorization"), there.header("cookie")), (None, None));
    assert_eq!(there.header("x-own"), Some(own.to_string().as_str()));
    assert_eq!(there.header("host"), Some(other.server.addr().to_string().as_str()));
}

#[test]
fn a_chain_that_cannot_be_followed_says_so() {
    let closed = barograph_testkit::ClosedPort::new().unwrap();
    let gone = format!("http://{}/", closed.addr());
    let broken = format!("connect to {}: Connection refused (os error 111)", closed.addr());
    for (location, outcome, why) in [
        ("/a", Outcome::WrongAnswer, "more than 3 redirects"),
        (
            "ftp://h/",
            Outcome::WrongAnswer,
            "redirected to `ftp://h/`: the scheme is `ftp`, and only http and https are spoken",
        ),
        (&gone, Outcome::Broken, &broken),
        (
            "http://no-such-host.invalid/x",
            Outcome::Broken,
            "redirected to http://no-such-host.invalid: find the host",
        ),
    ] {
        let to_there = location.to_owned();
        let target = answering(move |_| to(302, &to_there));
        let ended = followed(&target, "");
        assert_eq!(ended.outcome("Go", outcome), ended.count("Go"), "{location}");
        assert!(ended.whys("Go")[0].starts_with(why), "{:?}", ended.whys("Go"));
    }
}

#[test]
fn without_a_limit_or_a_location_a_redirect_is_an_answer() {
    let target = answering(|_| Answer::new(302, ""));
    followed(&target, "check = { status = 302 }").all_good();
    let target = answering(|_| to(302, "/b"));
    let text = "[operations.Go]\n[[operations.Go.exchanges]]\npath = \"/a\"\ncheck = { status = 302 }\n";
    target.run(text).until_done("Go", 1).all_good();
    assert!(target.paths().iter().all(|asked| asked == "GET /a"));
}
