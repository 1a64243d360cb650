//! The page over plain HTTP: answers, number of viewers, and the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use barograph_live::{LiveError, Page, StudyPosition};
use barograph_model::Nanos;
use serde_json::Value;

use crate::run::{begun, second};

/// Longest wait for anything, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Host and port of a page.
fn address(page: &Page) -> String {
    page.url().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned()
}

/// Requests a path, and leaves the answer to be read.
fn ask(page: &Page, path: &str) -> BufReader<TcpStream> {
    ask_by(page, &format!("host: {}\r\n", address(page)), path)
}

/// As `ask`, with another host name, or none.
fn ask_by(page: &Page, host: &str, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address(page)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{host}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn whole(page: &Page, path: &str) -> String {
    let mut text = String::new();
    ask(page, path).read_to_string(&mut text).unwrap();
    text
}

/// Next news of an event stream; `None` when it has ended.
fn news(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(json) = line.strip_prefix("data: ") {
            return Some(serde_json::from_str(json).unwrap());
        }
        // A stream without news sends keep-alive lines.
        assert!(Instant::now() < deadline, "no news within {PATIENCE:?}");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = begun();
    let text = whole(&page, "/");
    assert!(
        text.starts_with("HTTP/1.1 200") && text.contains("content-security-policy: default-src 'none'"),
        "{text}"
    );
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    // The XML namespace of SVG is a name and not a resource.
    let elsewhere = body.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("://") && !body.contains("/*S"), "{elsewhere}");
    assert!(body.contains("<title>Barograph</title>") && body.contains("new EventSource('events')"));
    assert!(whole(&page, "/else").starts_with("HTTP/1.1 404"));
}

/// A page from elsewhere whose name is redirected here cannot read this one.
#[test]
fn whoever_asks_by_a_name_from_elsewhere_is_refused() {
    let page = begun();
    for path in ["/", "/state.json", "/events"] {
        for host in ["host: example.org\r\n", "host: example.org:8090\r\n", ""] {
            let mut text = String::new();
            ask_by(&page, host, path).read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 403"), "{host:?} {path}: {text}");
        }
    }
    let mut text = String::new();
    ask_by(&page, "host: localhost:9000\r\n", "/state.json").read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

#[test]
fn an_event_stream_tells_everything_at_once_and_then_what_is_new_until_the_end() {
    let page = begun();
    second(&page, 0, 100, 5);
    let state: Value =
        serde_json::from_str(whole(&page, "/state.json").split_once("\r\n\r\n").unwrap().1).unwrap();
    let mut stream = ask(&page, "/events");
    let first = news(&mut stream).unwrap();
    assert_eq!(first, state);
    assert_eq!((&first["rate"], &first["ops"][0]["limit_ms"]), (&100.0.into(), &50.0.into()));
    second(&page, 1, 300, 5);
    let next = loop {
        let next = news(&mut stream).unwrap();
        if next["points"].as_array().unwrap().len() == 2 {
            break next;
        }
    };
    assert_eq!((&next["rate"], &next["ops"][0]["count"]), (&300.0.into(), &400.into()));
    page.end(&["report  /there/report.html".to_owned()]);
    let mut last = next;
    while let Some(next) = news(&mut stream) {
        last = next;
    }
    assert_eq!(last["ended"][0], "report  /there/report.html");
    let gone = TcpStream::connect(page.url().strip_prefix("http://").unwrap().trim_end_matches('/'));
    assert!(gone.is_err(), "nobody listens after the end");
}

/// First news for which `is` returns true.
fn news_in_which(stream: &mut BufReader<TcpStream>, is: impl Fn(&Value) -> bool) -> Value {
    loop {
        let next = news(stream).expect("the stream goes on");
        if is(&next) {
            return next;
        }
    }
}

#[test]
fn one_stream_tells_of_one_run_after_the_other() {
    let page = begun();
    second(&page, 0, 100, 5);
    page.say("the first one ended well");
    let mut stream = ask(&page, "/events");
    let first = news(&mut stream).unwrap();
    assert_eq!((&first["turn"], &first["all_remaining_s"]), (&"".into(), &Value::Null));
    page.next("block 1, two", StudyPosition { words: "run 2 of 3".to_owned(), after: Nanos::from_secs(60) });
    let second_run = news_in_which(&mut stream, |next| next["turn"] == "run 2 of 3");
    assert_eq!((&second_run["title"], &second_run["run"]), (&"block 1, two".into(), &"".into()));
    for gone in ["points", "ops", "uses", "parts"] {
        assert_eq!(second_run[gone], Value::Array(Vec::new()), "{gone}");
    }
    assert_eq!(second_run["lines"], serde_json::json!(["the first one ended well"]));
    page.progress(0.5, Some(Nanos::from_secs(30)));
    let left = news_in_which(&mut stream, |next| next["remaining_s"] == 30.0);
    assert_eq!(left["all_remaining_s"], 90.0);
    page.next("block 1, three", StudyPosition { words: "run 3 of 3".to_owned(), after: Nanos::ZERO });
    news_in_which(&mut stream, |next| next["turn"] == "run 3 of 3");
    page.end(&["report  /there/study.html".to_owned()]);
    let mut last = Value::Null;
    while let Some(next) = news(&mut stream) {
        last = next;
    }
    assert_eq!(
        (&last["ended"][0], &last["turn"]),
        (&"report  /there/study.html".into(), &"run 3 of 3".into())
    );
}

#[test]
fn so_many_may_look_and_no_more() {
    let page = begun();
    let mut streams: Vec<_> = (0..16).map(|_| ask(&page, "/events")).collect();
    for stream in &mut streams {
        news(stream).unwrap();
    }
    let refused = whole(&page, "/events");
    assert!(
        refused.starts_with("HTTP/1.1 503") && refused.contains("16 browsers follow this run already"),
        "{refused}"
    );
    drop(streams.pop());
    // The server frees the seat once it notices the closed connection, when it sends the next news.
    let mut count = 0;
    while whole_or_stream(&page) {
        count += 1;
        second(&page, count, 1, 1);
        assert!(count < 10_000, "the seat of a browser that left stays taken");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Whether one more browser is refused.
fn whole_or_stream(page: &Page) -> bool {
    let mut first = String::new();
    ask(page, "/events").read_line(&mut first).unwrap();
    first.starts_with("HTTP/1.1 503")
}

#[test]
fn other_machines_are_refused_with_what_to_do() {
    let refused = Page::serve(([0, 0, 0, 0], 0).into(), "x").unwrap_err();
    assert!(matches!(refused, LiveError::NotLoopback { .. }));
    assert!(
        refused.to_string().contains("only loopback is allowed") && refused.to_string().contains("ssh -L")
    );
    let page = begun();
    let taken = page.url().strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    assert!(matches!(Page::serve(taken, "x"), Err(LiveError::Listen { .. })));
}
