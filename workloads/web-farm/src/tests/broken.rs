//! Answers that break HTTP or are not those of the set: each ends as an outcome with a reason, and none as a hang.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use barograph_model::{Nanos, Outcome};

use super::rig::{Load, ended};
use crate::sets::Sets;

/// Time limit of a fetch from a server that stays silent.
const SHORT: Nanos = Nanos::from_millis(200);

/// Time limit of other fetches: one that needs it hangs.
const LONG: Nanos = Nanos::from_secs(30);

/// Reasons that a load keeps.
const REASONS: usize = 5;

/// The behaviour of a server after its answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It ends the connection.
    Ends,
    /// It says nothing further until the client leaves.
    Waits,
    /// It drops the connection with the request unread, so that the client sees a reset.
    Resets,
}

/// The URL of a server that answers every request in one way, and ends with the test's process.
fn answering(answer: Vec<u8>, then: Then) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || answer_one(stream.unwrap(), &answer, then));
        }
    });
    url
}

/// Answers the request of a connection. The first connection of a load carries none.
fn answer_one(mut stream: TcpStream, answer: &[u8], then: Then) {
    let mut byte = [0];
    let mut seen = Vec::new();
    while then != Then::Resets && !seen.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        seen.push(byte[0]);
    }
    if then == Then::Resets {
        // The request is there, and stays unread.
        let _ = stream.peek(&mut byte);
        return;
    }
    // The client may leave in the middle of a long answer.
    let _ = stream.write_all(answer);
    if then == Then::Ends {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Fetches from servers that answer in these ways until each reason was seen, and compares all outcomes.
fn end_as(servers: &[(Vec<u8>, Then)], outcome: Outcome, reasons: &[&str]) {
    let urls: Vec<String> = servers.iter().map(|(answer, then)| answering(answer.clone(), *then)).collect();
    let load = Load::at(&urls.join(",").replace(",http://", ","), &["farm.verify=true"]);
    let timeout = if outcome == Outcome::TimedOut { SHORT } else { LONG };
    let sum = load.until_within((servers.len() as u32, timeout), |sum| {
        let seen = load.reasons();
        ended(sum).1 >= servers.len() as u64 && reasons.iter().all(|reason| seen.contains(reason))
    });
    let (good, failed) = ended(&sum);
    assert_eq!((good, sum.ops[0].outcomes[outcome.index()]), (0, failed), "{}", load.reasons());
}

/// Loads of a few servers each, with a reason of its own for each answer.
fn are_wrong(cases: &[(Vec<u8>, &str)], outcome: Outcome) {
    for some in cases.chunks(REASONS) {
        let servers: Vec<(Vec<u8>, Then)> =
            some.iter().map(|(answer, _)| (answer.clone(), Then::Ends)).collect();
        let reasons: Vec<&str> = some.iter().map(|(_, reason)| *reason).collect();
        end_as(&servers, outcome, &reasons);
    }
}

/// An answer of status 200 with these headers and this body.
fn good(headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes(), body].concat()
}

#[test]
fn answers_that_are_not_http_are_wrong_answers() {
    let many_headers: String = (0..5_000).map(|n| format!("X-{n}: y\r\n")).collect();
    let cases = [
        (b"220 mail.test ESMTP\r\n\r\n".to_vec(), "does not begin with `HTTP/1.0` or `HTTP/1.1`"),
        (b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n".to_vec(), "with `HTTP/1.0` or `HTTP/1.1`"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec(), "has no status"),
        (good("Content Length: 1\r\n", b"x"), "the name of a header"),
        (good("Server: a\x01b\r\n", b""), "the value of a header has a control character"),
        (good("Server: a\r\n\rx\r\n", b""), "a line of its head does not end with CR LF"),
        (
            good(&format!("Server: {}\r\n", "x".repeat(1 << 20)), b""),
            "its head, or its trailers, have more than",
        ),
        (good(&many_headers, b""), "its head has more than"),
        (good("Content-Length: -1\r\n", b""), "its Content-Length is not a whole number"),
        (good("Content-Length: 1\r\nContent-Length: 2\r\n", b"xx"), "two Content-Length headers that differ"),
        (good("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b"x"), "both Content-Length and"),
        (good("Transfer-Encoding: gzip\r\n", b"x"), "is not the single word `chunked`"),
        (good("Transfer-Encoding: chunked\r\n", b"xyz\r\n"), "a chunk does not begin with its size"),
        (good("Transfer-Encoding: chunked\r\n", b"2\r\nabcd\r\n"), "a chunk is longer than its size says"),
        (
            good("Transfer-Encoding: chunked\r\n", b"0\r\nno trailer\r\n\r\n"),
            "the lines after its last chunk",
        ),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n".to_vec(), "switches to another protocol"),
        (b"HTTP/1.1 100 Go on\r\n\r\n".repeat(1_000), "interim answers"),
        (good("Content-Length: 99999999999\r\n", b"x"), "larger than the limit"),
    ];
    are_wrong(&cases, Outcome::WrongAnswer);
}

#[test]
fn answers_without_the_file_are_wrong_or_refused() {
    let page = Sets::new(1).unwrap().of(1).swap_remove(0).bytes;
    let length = format!("Content-Length: {}\r\n", page.len());
    let short = format!("{} bytes instead of {}", page.len() - 1, page.len());
    let mut altered = page.clone();
    altered[100] ^= 1;
    let wrong = [
        (good("Content-Length: 3\r\n", b"abc"), "3 bytes instead of"),
        (good("Content-Length: 0\r\n", b""), "0 bytes instead of"),
        (good("", &page[1..]), &short),
        (good(&length, &altered), "other content than that of the set"),
    ];
    are_wrong(&wrong, Outcome::WrongAnswer);
    let status = |line: &str| format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    let refused = [
        (b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), "status 204"),
        (status("301 Moved\r\nLocation: /"), "status 301"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(), "status 304"),
        (status("503 Busy"), "status 503"),
    ];
    are_wrong(&refused, Outcome::Refused);
}

#[test]
fn answers_that_end_early_are_broken_connections_and_those_that_never_end_time_out() {
    let cut_chunks = good("Transfer-Encoding: chunked\r\n", b"5\r\nab");
    let cut_body = good("Content-Length: 18000\r\n", b"half");
    for (answer, then) in [
        (Vec::new(), Then::Ends),
        (Vec::new(), Then::Resets),
        (b"HTTP/1.1 20".to_vec(), Then::Ends),
        (b"HTTP/1.1 200 OK\r\nServ".to_vec(), Then::Ends),
        (cut_body.clone(), Then::Ends),
        (cut_chunks.clone(), Then::Ends),
    ] {
        end_as(&[(answer, then)], Outcome::Broken, &["connection broke"]);
    }
    for answer in [Vec::new(), b"HTTP/1.1 200 OK\r\n".to_vec(), cut_body, cut_chunks] {
        end_as(&[(answer, Then::Waits)], Outcome::TimedOut, &[]);
    }
}
