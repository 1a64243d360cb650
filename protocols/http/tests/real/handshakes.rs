//! Answers to the handshake of a WebSocket.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use barograph_http::{Fault, Message, Method, Options, Policy, Request};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{in_words, on_worker, user};

/// The first message of a socket opened with these headers, in which `KEY` is the right value. The request
/// offers these subprotocols.
fn opened(status: &str, headers: &str, offers: &[(&str, &str)]) -> Result<Message, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut came, mut buffer) = (String::new(), [0; 4_096]);
            while !came.ends_with("\r\n\r\n") {
                let n = stream.read(&mut buffer).unwrap();
                came.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
            }
            assert_eq!(came.matches("connection: ").count(), 1, "{came}");
            let line = |name: &str| came.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
            assert_eq!(
                (line("connection: "), line("upgrade: ")),
                ("Upgrade".to_owned(), "websocket".to_owned())
            );
            let key = derive_accept_key(line("sec-websocket-key: ").as_bytes());
            let head = format!("HTTP/1.1 {status}\r\n{}\r\n", headers.replace("KEY", &key));
            // A text of two letters comes in the same piece.
            stream.write_all(&[head.as_bytes(), b"\x81\x02hi"].concat()).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        on_worker(async {
            // A connection that is used once declares that, except here.
            let connections = user(&url, &Options { policy: Policy::New, ..Options::default() });
            let path = format_args!("/");
            let request = Request { method: Method::GET, path, headers: offers, body: None };
            let mut socket =
                connections.websocket(&request).await.map_err(|fault: Fault| in_words(&fault))?;
            socket.receive().await.map_err(|fault| in_words(&fault))
        })
    })
}

#[test]
fn right_answers_are_taken_in_every_form() {
    for headers in [
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n",
        "Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: KEY\r\n",
        "connection: keep-alive\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: KEY\r\n",
    ] {
        assert_eq!(opened("101 Go", headers, &[]), Ok(Message::Text("hi".to_owned())), "{headers}");
    }
    let chosen = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n\
                  Sec-WebSocket-Protocol: b\r\n";
    let offers = &[("sec-websocket-protocol", "a, b")];
    assert_eq!(opened("101 Go", chosen, offers), Ok(Message::Text("hi".to_owned())));
}

#[test]
fn a_wrong_answer_is_told_by_the_header_that_is_missing() {
    let (upgrade, connection, accept) =
        ("Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-WebSocket-Accept: KEY\r\n");
    let protocol = "Sec-WebSocket-Protocol: other\r\n";
    for (headers, missing) in [
        ([connection, accept, ""], "`Upgrade: websocket`"),
        ([upgrade, accept, "Connection: keep-alive\r\n"], "`Connection: Upgrade`"),
        ([upgrade, connection, ""], "`Sec-WebSocket-Accept: "),
        ([upgrade, connection, "Sec-WebSocket-Accept: other\r\n"], "`Sec-WebSocket-Accept: "),
    ] {
        let why = opened("101 Go", &headers.concat(), &[]).unwrap_err();
        assert!(
            why.starts_with("the answer to the WebSocket handshake has no ") && why.contains(missing),
            "{why}"
        );
    }
    let right = [upgrade, connection, accept].concat();
    for (headers, offers) in [
        (format!("{right}{protocol}"), &[][..]),
        (format!("{right}{protocol}"), &[("sec-websocket-protocol", "a, b")]),
        (right, &[("sec-websocket-protocol", "a")]),
    ] {
        let why = opened("101 Go", &headers, offers).unwrap_err();
        assert!(why.contains("has no `Sec-WebSocket-Protocol: "), "{why}");
    }
    let refused = opened("403 No", "content-length: 0\r\n", &[]).unwrap_err();
    assert_eq!(refused, "asked for a stream and was answered with status 403");
}
