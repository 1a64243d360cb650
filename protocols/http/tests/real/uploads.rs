//! Requests larger than the kernel's buffers: answers that arrive before, or instead of, their reading.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use barograph_http::{Answer, Connections, Fault, Method, Options, Request};

use super::{failed, get, on_worker, user};

/// More than the buffers of both kernels hold.
const LARGE: usize = 24 << 20;

async fn post(connections: &Connections, body: &[u8]) -> Result<Answer, Fault> {
    let path = format_args!("/");
    connections.send(&Request { method: Method::POST, path, headers: &[], body: Some(body) }).await
}

/// Result of `asks` at a peer that does this with each of its connections, after the head of a request.
fn at<T>(peer: &(impl Fn(TcpStream) + Sync), asks: impl AsyncFnOnce(&Connections) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if let Some(end) = head(&mut stream) {
                    assert!(end.contains("POST / ") || end.contains("GET / "), "{end}");
                    scope.spawn(|| peer(stream));
                } else {
                    return;
                }
            }
        });
        let found = on_worker(async {
            let connections = user(&format!("http://{address}/"), &Options::default());
            asks(&connections).await
        });
        // A connection without a request ends the peer.
        drop(TcpStream::connect(address).unwrap());
        found
    })
}

/// Reads the head of a request byte by byte; the rest is left to the peer. `None` without a request.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        head.push(one[0]);
    }
    String::from_utf8(head).ok()
}

/// Answers with the bytes it reads, as it reads them.
fn echo(mut stream: TcpStream) {
    stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n").as_bytes()).unwrap();
    let (mut piece, mut left) = (vec![0; 64 << 10], LARGE);
    while left > 0 {
        let n = stream.read(&mut piece).unwrap();
        stream.write_all(&piece[..n]).unwrap();
        left -= n;
    }
}

#[test]
fn an_answer_is_read_while_the_request_is_sent() {
    let body: Vec<u8> = (0..LARGE).map(|n| n as u8).collect();
    let answer = at(&echo, async |connections| post(connections, &body).await.unwrap());
    assert!(answer.body() == body, "{} bytes came back", answer.body().len());
}

const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large";

#[test]
fn an_answer_that_comes_instead_of_reading_on_counts() {
    let body = vec![b'a'; LARGE];
    let until_close = &b"HTTP/1.1 413 Too Large\r\n\r\ntoo large"[..];
    for told in [TOO_LARGE, until_close] {
        // Closed with unread bytes, the connection is reset.
        let reset = |mut stream: TcpStream| stream.write_all(told).unwrap();
        let answer = at(&reset, async |connections| post(connections, &body).await.unwrap());
        assert_eq!((answer.status, answer.body()), (413, &b"too large"[..]));
    }
}

#[test]
fn a_connection_on_which_a_request_was_not_sent_whole_is_not_used_again() {
    let stays = &b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"[..];
    let open = Mutex::new(Vec::new());
    // It reads no further, and keeps the connection open.
    let deaf = |mut stream: TcpStream| {
        stream.write_all(stays).unwrap();
        open.lock().unwrap().push(stream);
    };
    let body = vec![b'a'; LARGE];
    at(&deaf, async |connections| {
        assert_eq!(post(connections, &body).await.unwrap().body(), b"ok");
        assert_eq!(get(connections, "/").await.unwrap().body(), b"ok");
        assert_eq!(connections.counters().opened, 2);
    });
}

#[test]
fn a_connection_that_ends_without_an_answer_is_broken() {
    let body = vec![b'a'; LARGE];
    let mute = |stream: TcpStream| drop(stream);
    let half = |mut stream: TcpStream| stream.write_all(&TOO_LARGE[..60]).unwrap();
    for peer in [&mute as &(dyn Fn(TcpStream) + Sync), &half] {
        let fault = at(&|stream| peer(stream), async |connections| failed(post(connections, &body).await));
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
    }
}
