//! A receiver that keeps its requests, and broken receivers: no run waits for them, and the record states the
//! losses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use barograph_export::Sender;
use barograph_record::{Follower, Run};
use barograph_testkit::ClosedPort;

use crate::record::{NAMES, beginning, second, written};

/// Longer than the time limit of a sender for an answer, 5 s, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request: its path, its heads in small letters, its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) heads: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// Answers every request alike, and keeps them all. Its thread ends with the test's process.
pub(crate) struct Keeper {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Keeper {
    pub(crate) fn start(status: &'static str, body: &'static [u8]) -> Keeper {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (BufReader::new(stream.unwrap()), Arc::clone(&kept));
                // A client may open another connection before it uses the first one again.
                std::thread::spawn(move || keep(stream, &kept, (status, body)));
            }
        });
        Keeper { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Keeps and answers the requests of a connection until it is closed.
fn keep(
    mut stream: BufReader<TcpStream>,
    requests: &Mutex<Vec<Request>>,
    (status, body): (&'static str, &'static [u8]),
) {
    while let Some(request) = read(&mut stream) {
        requests.lock().unwrap().push(request);
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
    }
}

/// The next request of a connection; `None` when it was closed.
fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = || {
        let mut text = String::new();
        stream.read_line(&mut text).ok()?;
        Some(text.trim_end().to_owned())
    };
    let first = line().filter(|first| !first.is_empty())?;
    let mut heads = Vec::new();
    loop {
        match line()? {
            end if end.is_empty() => break,
            head => heads.push(head.to_lowercase()),
        }
    }
    let length = heads.iter().find_map(|head| head.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Request { path: first.split(' ').nth(1)?.to_owned(), heads, body })
}

fn sender(text: &str) -> Arc<Sender> {
    Arc::new(Sender::start(text.parse().unwrap()).unwrap())
}

/// The only note of a record made with this sender.
fn note(sender: Arc<Sender>) -> String {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written(root.path(), vec![sender])).unwrap();
    assert!(run.complete);
    let (_, note) = run.notes().last().unwrap();
    note.to_owned()
}

#[test]
fn a_receiver_that_is_down_is_a_note() {
    let closed = ClosedPort::new().unwrap();
    let address = closed.addr();
    let began = Instant::now();
    let note = note(sender(&format!("prometheus=http://{address}")));
    assert!(began.elapsed() < PATIENCE);
    assert!(note.starts_with(&format!("export to prometheus=http://{address}/api/v1/write: ")), "{note}");
    let (lost, rest) = note.split_once(": ").unwrap().1.split_once(" of ").unwrap();
    assert!(rest.starts_with(&format!("{lost} figures did not arrive; the last failure: ")), "{note}");
    assert!(note.contains("Connection refused"), "{note}");
}

#[test]
fn a_receiver_that_refuses_is_a_note_with_its_words() {
    let keeper = Keeper::start("400 Bad Request", b"out of order sample\n");
    let note = note(sender(&format!("prometheus={}", keeper.url)));
    assert!(note.contains("figures did not arrive, ") && note.contains(" refused; "), "{note}");
    assert!(note.ends_with("the receiver answered 400 Bad Request: out of order sample"), "{note}");
    // Each interval once, and the rest at the end: refused figures are not sent again.
    assert_eq!(keeper.requests().len(), 4);
}

#[test]
fn a_fault_of_an_opentelemetry_receiver_is_final() {
    let keeper = Keeper::start("500 Internal Server Error", b"broken");
    let note = note(sender(&format!("otlp={}", keeper.url)));
    assert!(note.contains(" refused; "), "{note}");
    assert!(note.ends_with("the receiver answered 500 Internal Server Error: broken"), "{note}");
    assert_eq!(keeper.requests().len(), 4);
}

#[test]
fn a_receiver_that_sends_elsewhere_has_taken_nothing() {
    let keeper = Keeper::start("302 Found\r\nlocation: /sign-in", b"");
    let note = note(sender(&format!("prometheus={}", keeper.url)));
    assert!(note.contains(" refused; ") && note.contains("the receiver answered 302 Found"), "{note}");
    let requests = keeper.requests();
    assert!(requests.len() == 4 && requests.iter().all(|r| r.path == "/api/v1/write"), "{requests:?}");
}

#[test]
fn series_of_prometheus_end_with_the_run_and_are_no_figures() {
    let count = |protocol: &str| {
        let keeper = Keeper::start("204 No Content", b"");
        let note = note(sender(&format!("{protocol}={}", keeper.url)));
        assert!(note.ends_with(" figures arrived"), "{note}");
        keeper.requests().len()
    };
    // Each of three intervals, the rest, and the end itself.
    assert_eq!((count("prometheus"), count("otlp")), (5, 4));
}

#[test]
fn a_receiver_that_is_too_busy_is_asked_again() {
    let keeper = Keeper::start("503 Service Unavailable", b"later");
    let sender = sender(&format!("otlp={}", keeper.url));
    beginning().iter().for_each(|entry| sender.entry(entry));
    sender.interval(&second(0, 3), &NAMES);
    let began = Instant::now();
    while keeper.requests().is_empty() {
        assert!(began.elapsed() < PATIENCE, "nothing was sent");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let notes = sender.leave();
    assert!(notes[0].contains("did not arrive; the last failure: the receiver answered 503"), "{notes:?}");
    let requests = keeper.requests();
    assert!(requests.len() >= 2 && requests.iter().all(|r| r.body == requests[0].body), "the same again");
}

#[test]
fn nobody_waits_for_a_receiver_that_does_not_answer() {
    // The kernel accepts connections; nothing is ever read.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = sender(&format!("otlp=http://{}", listener.local_addr().unwrap()));
    beginning().iter().for_each(|entry| sender.entry(entry));
    let began = Instant::now();
    for n in 0..400 {
        sender.interval(&second(n, 3), &NAMES);
    }
    let told = began.elapsed();
    let notes = sender.leave();
    assert!(began.elapsed() < PATIENCE);
    assert!(told < PATIENCE / 4, "telling 400 intervals took {told:?}");
    let dropped = " dropped from the queue, which was full";
    assert!(notes.len() == 1 && notes[0].contains(dropped), "{notes:?}");
}

#[test]
fn a_run_that_never_began_has_nothing_to_say_of_figures() {
    let keeper = Keeper::start("204 No Content", b"");
    let sender = sender(&format!("prometheus={}", keeper.url));
    assert_eq!(
        sender.leave(),
        [format!("export to prometheus={}/api/v1/write: 0 figures arrived", keeper.url)]
    );
    assert!(keeper.requests().is_empty());
}
