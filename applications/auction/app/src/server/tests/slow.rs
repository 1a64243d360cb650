//! Peers that are slow on purpose, send too much, or nothing.

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use futures::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::time::advance;

use super::super::connection::{BUFFER_BYTES, Phase, REST, serve_connection};
use super::super::heads::HEAD_TIME;
use super::*;

/// A connection to a site, without a socket so that its time can be stopped.
fn connect(site: &Site) -> (DuplexStream, tokio::task::JoinHandle<()>, watch::Sender<Phase>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (closing, closed) = watch::channel(Phase::Accepting);
    let served = tokio::spawn(serve_connection(far, site.router.clone(), closed));
    (near, served, closing)
}

async fn answer(connection: &mut DuplexStream) -> String {
    let mut buffer = vec![0; 4096];
    let read = connection.read(&mut buffer).await.unwrap();
    String::from_utf8_lossy(&buffer[..read]).into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_byte_by_byte_ends_the_connection() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let (mut slow, served, _closing) = connect(&site);
    for _ in 0..2 {
        // It may rest for long before; every head has its own time limit.
        advance(REST - HEAD_TIME).await;
        for piece in [&b"GET /auction/ali"[..], b"ve HTTP/1.1\r\nhost: x\r\n", b"\r\n"] {
            settle().await;
            advance(HEAD_TIME / 3).await;
            slow.write_all(piece).await.unwrap();
        }
        assert!(answer(&mut slow).await.starts_with("HTTP/1.1 204"));
    }
    for byte in b"GET /auction/alive" {
        slow.write_all(&[*byte]).await.unwrap();
        settle().await;
        advance(HEAD_TIME / 19).await;
        settle().await;
    }
    assert!(!served.is_finished());
    advance(HEAD_TIME / 9).await;
    settle().await;
    assert!(served.is_finished(), "the time runs from the first byte on, not from the last");
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_an_answer_is_given_is_no_head_that_is_late() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let (mut line, served, _closing) = connect(&site);
    let token = &guest.token;
    let events =
        format!("GET /auction/bid/auction/1/events HTTP/1.1\r\nhost: x\r\nAPI_TOKEN: {token}\r\n\r\n");
    line.write_all(events.as_bytes()).await.unwrap();
    assert!(answer(&mut line).await.starts_with("HTTP/1.1 200"));
    line.write_all(b"GET /auction/al").await.unwrap();
    settle().await;
    for _ in 0..10 {
        advance(HEAD_TIME / 2).await;
        settle().await;
    }
    assert!(!served.is_finished(), "the stream goes on");
    drop(line);
    // Behind a started head nothing is read until the answer ends, so the next write to the peer shows that
    // it has gone.
    for _ in 0..60 {
        advance(Duration::from_secs(1)).await;
        settle().await;
    }
    assert!(served.is_finished(), "nobody listens any more");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_stays_longer_than_proxies_keep_it_and_a_poll_is_not_idle() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let (mut line, served, _closing) = connect(&site);
    for _ in 0..3 {
        advance(REST - Duration::from_secs(1)).await;
        settle().await;
        line.write_all(b"GET /auction/alive HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(answer(&mut line).await.starts_with("HTTP/1.1 204"));
    }
    let poll = format!(
        "GET /auction/bid/auction/1/events HTTP/1.1\r\nhost: x\r\nAPI_TOKEN: {}\r\n\r\n",
        guest.token
    );
    line.write_all(poll.as_bytes()).await.unwrap();
    assert!(answer(&mut line).await.starts_with("HTTP/1.1 200"));
    for _ in 0..40 {
        advance(Duration::from_secs(10)).await;
        settle().await;
    }
    assert!(!served.is_finished(), "a stream is not idle");
    drop(line);
    served.await.unwrap();
    let (_idle, served, _closing) = connect(&site);
    settle().await;
    advance(REST + Duration::from_secs(1)).await;
    settle().await;
    assert!(served.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_refused() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(20).await;
    let send = |path: &str, kind: &str| {
        let request = Request::builder().method(Method::POST).uri(path).header(TOKEN_HEADER, &guest.token);
        let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let request = request.header("content-type", kind).body(never).unwrap();
        let router = site.router.clone();
        tokio::spawn(async move { ask(&router, request).await })
    };
    let bid = send("/auction/bid", "application/json");
    let upload = send("/auction/item/8/image", "multipart/form-data; boundary=x");
    settle().await;
    // Other threads read the stores before the upload is read.
    while !upload.is_finished() {
        advance(Duration::from_secs(5)).await;
        settle().await;
    }
    assert_eq!(bid.await.unwrap().code(408), "tooSlow");
    assert_eq!(upload.await.unwrap().code(408), "tooSlow");
}

#[tokio::test]
async fn heads_that_are_too_large_or_too_many_are_refused() {
    let site = Site::start().await;
    let long = "x".repeat(BUFFER_BYTES);
    let many: String = (0..200).map(|i| format!("x-{i}: y\r\n")).collect();
    for (head, status) in [
        (format!("GET /auction/{long} HTTP/1.1\r\nhost: x\r\n\r\n"), "HTTP/1.1 4"),
        (format!("GET /auction/alive HTTP/1.1\r\nhost: x\r\nx: {long}\r\n\r\n"), "HTTP/1.1 431"),
        (format!("GET /auction/alive HTTP/1.1\r\nhost: x\r\n{many}\r\n"), "HTTP/1.1 431"),
        ("\r\n\r\n\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), "HTTP/1.1 400"),
    ] {
        let (mut line, served, _closing) = connect(&site);
        line.write_all(head.as_bytes()).await.unwrap();
        let said = answer(&mut line).await;
        assert!(said.starts_with(status), "{said}");
        drop(line);
        served.await.unwrap();
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_costs_its_connection_and_nothing_else() {
    let site = Site::start().await;
    let (mut line, served, _closing) = connect(&site);
    let head = "POST /auction/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    line.write_all(head.as_bytes()).await.unwrap();
    line.write_all(b"{\"name\":").await.unwrap();
    drop(line);
    served.await.unwrap();
    assert_eq!(site.ask(Method::GET, "/auction/healthCheck", None).await.json()["ready"], true);
}
