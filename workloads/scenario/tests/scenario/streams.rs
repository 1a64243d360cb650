//! Server-Sent Events and WebSockets that stay open between operations.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use barograph_model::Outcome;
use barograph_testkit::{Answer, ListenOptions, Site, SiteProtocols, one_of};

use crate::rig::Run;

fn site() -> Site {
    Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap()
}

const EVENTS: &str = r#"
    [operations.Open]
    [[operations.Open.exchanges]]
    sse = "open"
    stream = "ticks"
    path = "/events/3/1"
    check = { headers = { content-type = { matches = "event-stream" } } }
    [operations.Next]
    [[operations.Next.exchanges]]
    sse = "next"
    stream = "ticks"
    event = "tick"
    extract.n = { json = "/n" }
    check = { json = { "/n" = { exists = true } } }
    [operations.Tell]
    [[operations.Tell.exchanges]]
    path = "/bytes/{n}"
    [operations.Close]
    [[operations.Close.exchanges]]
    sse = "close"
    stream = "ticks"
"#;

#[test]
fn events_are_read_one_by_one_until_the_target_ends_them() {
    let site = site();
    let text = format!(
        "{EVENTS}\n[behaviours.main]\nfirst = \"Open\"\npace = {{ think = \"1 ms\" }}\n[behaviours.main.next]\n\
         Open = \"Next\"\nNext = {{ choose = [{{ when = \"outcome == 'good'\", next = \"Tell\" }}, {{ else = \"Close\" }}] }}\n\
         Tell = \"Next\"\nClose = \"end_session\"\n"
    );
    let ended = Run::at(&text, &site.url("")).until_done("Close", 2);
    let sessions = ended.count("Close");
    assert!(ended.outcome("Next", Outcome::Good) >= 3 * sessions);
    // The fourth wait finds the end. The load may end while the one user is between it and its closing.
    let ends = ended.outcome("Next", Outcome::Broken);
    assert!((sessions..=sessions + 1).contains(&ends), "{ends} ends in {sessions} sessions");
    assert_eq!(ended.whys("Next"), ["the target ended the stream `ticks`"]);
    assert_eq!(ended.outcome("Tell", Outcome::Good), ended.count("Tell"));
    // Closing a closed stream is not a fault.
    assert_eq!(ended.outcome("Close", Outcome::Good), sessions);
}

#[test]
fn a_stream_that_is_not_open_and_one_that_is_none() {
    let site = site();
    let text = EVENTS.replace("/events/3/1", "/status/404")
        + "[behaviours.main]\nfirst = \"Open\"\npace = { think = \"1 ms\" }\nnext = { Open = \"Next\", Next = \"Open\" }\n";
    let text = text.replace("[operations.Tell]", "[operations.Tell]\nabout = \"unused\"");
    let ended = Run::at(&text, &site.url("")).until_done("Next", 2);
    assert_eq!(ended.outcome("Open", Outcome::Refused), ended.count("Open"));
    assert_eq!(ended.whys("Open"), ["asked for a stream and was answered with status 404"]);
    assert_eq!(ended.whys("Next"), ["the stream `ticks` is not open, or another activity uses it"]);
}

const TALK: &str = r#"
    [values.line]
    kind = "random_string"
    length = 20
    [operations.Connect]
    start = { behaviour = "listen", at_most = 1 }
    [[operations.Connect.exchanges]]
    websocket = "open"
    stream = "talk"
    path = "/ws"
    [operations.Say]
    [[operations.Say.exchanges]]
    websocket = "send"
    stream = "talk"
    text = "{line}"
    [operations.Hear]
    [[operations.Hear.exchanges]]
    websocket = "receive"
    stream = "talk"
    wait = true
    extract.heard = { body = true }
    check = { matches = "^[A-Za-z0-9]{20}$" }
    [operations.Bye]
    [[operations.Bye.exchanges]]
    websocket = "close"
    stream = "talk"
    [behaviours.listen]
    first = "Hear"
    next = { Hear = "Hear" }
"#;

/// One activity sends lines, another receives them; returns the lines not received when the load ends.
fn unheard() -> u64 {
    let site = site();
    let text = format!(
        "{TALK}\n[behaviours.main]\nfirst = \"Connect\"\npace = {{ think = \"2 ms\" }}\n\
         next = {{ Connect = \"Say\", Say = \"Say\", Bye = \"Bye\" }}\n"
    );
    let ended = Run::at(&text, &site.url("")).until(|ended| ended.outcome("Hear", Outcome::Good) >= 30);
    assert!(ended.whys("Hear").is_empty() && ended.whys("Say").is_empty(), "{:?}", ended.whys("Hear"));
    assert_eq!(site.connections(), 1);
    ended.count("Say") - ended.outcome("Hear", Outcome::Good)
}

#[test]
fn one_activity_listens_while_another_sends() {
    // One may be on its way; more only if the load ends while the machine stops the target.
    one_of(10, || match unheard() {
        0..=2 => Ok(()),
        lines => Err(format!("{lines} lines were said and not heard")),
    });
}

#[test]
fn the_end_of_a_session_closes_what_an_activity_waits_for() {
    let site = site();
    let text = format!(
        "{TALK}\n[behaviours.main]\nfirst = \"Connect\"\npace = {{ think = \"5 ms\" }}\n\
         next = {{ Connect = \"Say\", Say = {{ Say = 0.8, Bye = 0.2 }}, Bye = \"end_session\" }}\n"
    )
    .replace("[operations.Bye]", "[operations.Bye]\nstop_others = true");
    let ended = Run { users: 3, ..Run::at(&text, &site.url("")) }.until_done("Bye", 12);
    ended.all_good();
    assert!(site.connections() >= ended.count("Bye"));
}

#[test]
fn a_websocket_that_the_target_closes_says_how() {
    let site = site();
    let text = format!(
        "{TALK}\n[behaviours.main]\nfirst = \"Connect\"\npace = {{ think = \"5 ms\" }}\n\
         next = {{ Connect = \"Say\", Say = \"Say\", Bye = \"Bye\" }}\n"
    )
    .replace("text = \"{line}\"", "text = \"!close\"");
    let ended = Run::at(&text, &site.url("")).until(|ended| ended.outcome("Hear", Outcome::Broken) >= 1);
    assert_eq!(ended.whys("Hear")[0], "the target closed with code 1001 the stream `talk`");
}

#[test]
fn subprotocols_are_offered() {
    let target = crate::rig::answering(|_| Answer::new(400, ""));
    let run = target.run(
        r#"
        [operations.Open]
        [[operations.Open.exchanges]]
        websocket = "open"
        stream = "s"
        path = "/chat/{user}"
        protocols = ["chat.v1", "chat.v2"]
        "#,
    );
    let ended = run.until_done("Open", 1);
    assert_eq!(ended.outcome("Open", Outcome::Refused), ended.count("Open"));
    let asked = target.asked.lock().unwrap();
    assert_eq!(asked[0].path, "/chat/0");
    assert_eq!(asked[0].header("sec-websocket-protocol"), Some("chat.v1, chat.v2"));
}

/// A target of one stream: half an event at once, the other half on a signal.
fn half_an_event(told: Receiver<()>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked: Vec<u8> = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            asked.push(byte[0]);
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"n\"";
        stream.write_all(head.as_bytes()).unwrap();
        told.recv().unwrap();
        stream.write_all(b": 1}\n\n").unwrap();
        // Until the user has gone, in any way.
        let _ = stream.read(&mut [0]);
    });
    (url, target)
}

#[test]
fn a_wait_for_an_event_ends_with_the_timeout_and_loses_nothing() {
    let (tell, told) = sync_channel(1);
    let (url, target) = half_an_event(told);
    let text = r#"
        [operations.Open]
        [[operations.Open.exchanges]]
        sse = "open"
        stream = "slow"
        path = "/slow"
        [operations.Next]
        [[operations.Next.exchanges]]
        sse = "next"
        stream = "slow"
        check = { json = { "/n" = 1 } }
        [behaviours.main]
        first = "Open"
        pace = { think = "1 ms" }
        next = { Open = "Next", Next = "Next" }
        "#;
    // Long enough that opening the stream does not time out as well.
    let run = Run { timeout: barograph_model::Nanos::from_secs(3), ..Run::at(text, &url) };
    let ended = run.until(|ended| {
        if ended.outcome("Next", Outcome::TimedOut) >= 1 {
            // Once is enough.
            let _ = tell.try_send(());
        }
        ended.outcome("Next", Outcome::Good) >= 1
    });
    target.join().unwrap();
    assert!(ended.outcome("Next", Outcome::TimedOut) >= 1);
    assert_eq!(ended.outcome("Next", Outcome::WrongAnswer), 0);
}
