//! Raw HTTP/2 frames by which a peer ends a request or a connection.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use barograph_http::{Answer, Fault, Method, Options, Protocol, Request};

use super::{failed, on_worker, user};

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// The client's requests, and the peer's frames after the head of each of them.
struct PeerScript<'t> {
    requests: usize,
    body: Option<&'t [u8]>,
    /// By connection, and on each by request.
    said: &'t [&'t [Vec<u8>]],
}

/// Reads until there are this many heads of requests; returns their number.
fn await_heads(stream: &mut TcpStream, came: &mut Vec<u8>, wanted: usize) -> usize {
    let mut buffer = [0; 4_096];
    loop {
        // After the preface of 24 bytes, each frame has nine bytes before its payload.
        let (mut at, mut heads) = (24, 0);
        while let Some(&[a, b, c, kind, ..]) = came.get(at..at + 9) {
            heads += usize::from(kind == HEADERS);
            at += 9 + u32::from_be_bytes([0, a, b, c]) as usize;
        }
        if heads >= wanted {
            return heads;
        }
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the client has gone after {heads} of {wanted} requests");
        came.extend_from_slice(&buffer[..n]);
    }
}

/// Results of the requests of a talk, and the number of repetitions.
fn ends(talk: &PeerScript<'_>) -> (Vec<Result<Answer, Fault>>, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut open = Vec::new();
            for said in talk.said {
                let (mut stream, _) = listener.accept().unwrap();
                let mut came = Vec::new();
                for (n, bytes) in said.iter().enumerate() {
                    let heads = await_heads(&mut stream, &mut came, n + 1);
                    assert!(n > 0 || heads == 1, "{heads} requests before the settings");
                    if n == 0 {
                        stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
                    }
                    stream.write_all(bytes).unwrap();
                }
                open.push(stream);
            }
            // Until the client has seen it and gone.
            open.into_iter().for_each(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
        });
        on_worker(async {
            let options = Options { protocol: Protocol::Http2, ..Options::default() };
            let connections = user(&url, &options);
            let path = format_args!("/");
            let request = Request { method: Method::POST, path, headers: &[], body: talk.body };
            let all = (0..talk.requests).map(|_| connections.send(&request));
            (futures::future::join_all(all).await, connections.repeated())
        })
    })
}

/// The result of a request whose head is answered with `said`.
fn ends_with(said: &[u8]) -> Result<Answer, Fault> {
    let (mut all, repeated) = ends(&PeerScript { requests: 1, body: None, said: &[&[said.to_vec()]] });
    assert_eq!(repeated, 0);
    all.remove(0)
}

fn refused(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &7u32.to_be_bytes())
}

/// An answer of status 200 without a body: `:status: 200` is the eighth entry of the static table.
fn good(stream: u32) -> Vec<u8> {
    frame(HEADERS, 0x5, stream, b"\x88")
}

/// The end of a connection in good order, on which the requests up to `last` are processed.
fn goodbye(last: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), 0u32.to_be_bytes()].concat())
}

#[test]
fn a_request_that_the_peer_has_not_processed_is_sent_again() {
    let refused_once: &[&[Vec<u8>]] = &[&[refused(1), good(3)]];
    let refused_thrice: &[&[Vec<u8>]] = &[&[refused(1), refused(3), refused(5), good(7)]];
    let moved: &[&[Vec<u8>]] = &[&[goodbye(0)], &[good(1)]];
    for (said, times) in [(refused_once, 1), (refused_thrice, 3), (moved, 1)] {
        let (all, repeated) = ends(&PeerScript { requests: 1, body: None, said });
        assert!(all[0].as_ref().is_ok_and(|answer| answer.status == 200), "{times} times");
        assert_eq!(repeated, times);
    }
    let always = &[refused(1), refused(3), refused(5), refused(7)][..];
    let (mut all, repeated) = ends(&PeerScript { requests: 1, body: None, said: &[always] });
    assert!(matches!(failed(all.remove(0)), Fault::Reset { reason: "REFUSED_STREAM" }));
    assert_eq!(repeated, 3);
}

#[test]
fn an_answer_that_comes_instead_of_reading_on_counts() {
    // More than the peer's window takes.
    let body = vec![b'a'; 1 << 20];
    let said =
        [frame(HEADERS, 0x4, 1, b"\x88"), frame(DATA, 0x1, 1, b"enough"), frame(RST_STREAM, 0, 1, &[0; 4])];
    let (mut all, _) = ends(&PeerScript { requests: 1, body: Some(&body), said: &[&[said.concat()]] });
    assert_eq!(all.remove(0).unwrap().body(), b"enough");
}

#[test]
fn requests_wait_for_the_settings_of_the_peer() {
    let (all, repeated) =
        ends(&PeerScript { requests: 3, body: None, said: &[&[good(1), good(3), good(5)]] });
    assert!(all.iter().all(Result::is_ok) && repeated == 0);
}

#[test]
fn resets_and_goodbyes_carry_their_reason() {
    let fault = failed(ends_with(&frame(RST_STREAM, 0, 1, &11u32.to_be_bytes())));
    assert!(matches!(fault, Fault::Reset { reason: "ENHANCE_YOUR_CALM" }), "{fault:?}");
    let last_stream_and_reason = [0u32.to_be_bytes(), 2u32.to_be_bytes()].concat();
    let fault = failed(ends_with(&frame(GOAWAY, 0, 0, &last_stream_and_reason)));
    assert!(matches!(fault, Fault::GoneAway { reason: "INTERNAL_ERROR" }), "{fault:?}");
}

#[test]
fn frames_that_make_no_sense_break_the_rules() {
    // Data on a stream that was never opened.
    let fault = failed(ends_with(&frame(0, 0, 77, b"surprise")));
    assert!(matches!(fault, Fault::Frames { protocol: "HTTP/2", .. }), "{fault:?}");
}

#[test]
fn an_interim_answer_is_passed_over() {
    // `:status` is the eighth entry of the static table.
    let interim = frame(HEADERS, 0x4, 1, b"\x08\x03103");
    assert_eq!(ends_with(&[interim, good(1)].concat()).unwrap().status, 200);
}
