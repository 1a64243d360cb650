//! The server against a plain socket: every action, in the client's view.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use barograph_testkit::{Act, Answer, Request, Server, always, dying_after};

/// Longest read; a longer one shows an unintended stall.
const PATIENCE: Duration = Duration::from_secs(20);

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, path: &str) {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
}

/// Reads exactly the expected text.
fn expect(stream: &mut TcpStream, wanted: &str) {
    let mut bytes = vec![0; wanted.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), wanted);
}

fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn is_reset(mut stream: TcpStream) -> bool {
    stream.read(&mut [0; 16]).is_err_and(|e| e.kind() == ErrorKind::ConnectionReset)
}

const HELLO: &str = "HTTP/1.1 200 Known\r\ncontent-length: 5\r\n\r\nhello";

fn hello() -> Act {
    Answer::new(200, "hello").into()
}

#[test]
fn answers_come_on_one_connection_and_are_counted() {
    let script = |r: &Request| Answer::new(200, format!("{} {} {}", r.connection, r.n, r.path)).into();
    let server = Server::start(Arc::new(script)).unwrap();
    let mut first = connect(&server);
    for n in 0..3 {
        ask(&mut first, "/a?b");
        expect(&mut first, &format!("HTTP/1.1 200 Known\r\ncontent-length: 8\r\n\r\n0 {n} /a?b"));
    }
    let mut second = connect(&server);
    ask(&mut second, "/");
    expect(&mut second, "HTTP/1.1 200 Known\r\ncontent-length: 5\r\n\r\n1 3 /");
    assert_eq!((server.requests(), server.connections()), (4, 2));
}

#[test]
fn bodies_arrive_headers_are_sent_and_close_is_honoured() {
    let script = |r: &Request| Answer::new(201, r.body.clone()).with("x-test", "yes").into();
    let server = Server::start(Arc::new(script)).unwrap();
    let mut stream = connect(&server);
    write!(stream, "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 4\r\n\r\nping").unwrap();
    assert_eq!(rest(stream), "HTTP/1.1 201 Known\r\ncontent-length: 4\r\nx-test: yes\r\n\r\nping");
    let mut stream = connect(&server);
    write!(stream, "HEAD / HTTP/1.1\r\nConnection: close\r\nContent-Length: 4\r\n\r\nping").unwrap();
    assert_eq!(
        rest(stream),
        "HTTP/1.1 201 Known\r\ncontent-length: 4\r\nx-test: yes\r\n\r\n",
        "a head has no body"
    );
}

#[test]
fn an_answer_waits_its_delay_while_others_are_served() {
    let delay = Duration::from_millis(150);
    let script = move |r: &Request| {
        let answer = Answer::new(200, "hello");
        if r.path == "/slow" { answer.after(delay).into() } else { answer.into() }
    };
    let server = Server::start(Arc::new(script)).unwrap();
    let (mut slow, mut quick) = (connect(&server), connect(&server));
    let start = Instant::now();
    ask(&mut slow, "/slow");
    ask(&mut quick, "/");
    expect(&mut quick, HELLO);
    expect(&mut slow, HELLO);
    assert!(start.elapsed() >= delay);
}

#[test]
fn a_stall_gives_no_byte_and_does_not_hold_others() {
    let script = |r: &Request| if r.path == "/stall" { Act::Stall } else { hello() };
    let server = Server::start(Arc::new(script)).unwrap();
    let (mut stalled, mut other) = (connect(&server), connect(&server));
    ask(&mut stalled, "/stall");
    for _ in 0..5 {
        ask(&mut other, "/");
        expect(&mut other, HELLO);
    }
    stalled.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let error = stalled.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    drop(server);
    stalled.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(is_reset(stalled), "a server that stops leaves nobody hanging");
}

#[test]
fn garbage_raw_bytes_and_half_bodies_come_as_scripted() {
    let script = |r: &Request| match r.path.as_str() {
        "/garbage" => Act::Garbage(b"\x00\xffnonsense"[..].to_vec()),
        "/half" => Act::CloseMid(Answer::new(200, "0123456789")),
        _ => Act::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".to_vec()),
    };
    let server = Server::start(Arc::new(script)).unwrap();
    let mut stream = connect(&server);
    ask(&mut stream, "/raw");
    expect(&mut stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    ask(&mut stream, "/half");
    assert_eq!(rest(stream), "HTTP/1.1 200 Known\r\ncontent-length: 10\r\n\r\n01234");
    let mut stream = connect(&server);
    ask(&mut stream, "/garbage");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"\x00\xffnonsense");
}

#[test]
fn a_refused_request_is_reset_and_the_server_lives() {
    let script = |r: &Request| if r.n == 0 { Act::Refuse } else { hello() };
    let server = Server::start(Arc::new(script)).unwrap();
    let mut stream = connect(&server);
    ask(&mut stream, "/");
    assert!(is_reset(stream));
    let mut stream = connect(&server);
    ask(&mut stream, "/");
    expect(&mut stream, HELLO);
}

#[test]
fn a_server_dies_after_n_requests_with_all_its_connections() {
    let mut server = Server::start(dying_after(2, always(hello()))).unwrap();
    let (mut idle, mut busy) = (connect(&server), connect(&server));
    ask(&mut idle, "/");
    expect(&mut idle, HELLO);
    ask(&mut busy, "/");
    expect(&mut busy, HELLO);
    ask(&mut busy, "/");
    assert!(is_reset(busy) && is_reset(idle));
    server.die();
    let error = TcpStream::connect(server.addr()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_wrong_request_is_told_so() {
    let server = Server::start(always(hello())).unwrap();
    let mut stream = connect(&server);
    stream.write_all(b"EHLO example\r\n\r\n").unwrap();
    let text = rest(stream);
    assert!(text.starts_with("HTTP/1.1 400 ") && text.ends_with("not a request line of HTTP/1.1"), "{text}");
    assert_eq!(server.requests(), 0);
}
