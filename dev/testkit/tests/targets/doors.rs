//! The scripted server at every door, TLS good and bad, and bytes in pieces.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use barograph_testkit::{
    Act, AfterBytes, Answer, Authority, ClosedPort, ListenOptions, Server, always, has_ipv6, one_of, pieces,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Stream, block_on, plain, tls};

const HELLO: &str = "HTTP/1.1 200 Known\r\ncontent-length: 5\r\n\r\nhello";
const ASK_TO_CLOSE: &[u8] = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n";

fn hello(door: ListenOptions) -> Server {
    Server::start_at(door, always(Answer::new(200, "hello").into())).unwrap()
}

async fn talk(mut stream: Stream) -> String {
    stream.write_all(ASK_TO_CLOSE).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[test]
fn the_same_script_answers_at_every_door() {
    let authority = Authority::new().unwrap();
    let mut doors = vec![ListenOptions::v4(), ListenOptions::unix()];
    if has_ipv6() {
        doors.push(ListenOptions::v6());
    } else {
        let _ = writeln!(std::io::stderr(), "IPv6 left out: this machine has no ::1");
    }
    for door in doors {
        let server = hello(door.clone());
        assert!(server.url("/x").starts_with("http://") && server.url("/x").ends_with("/x"));
        assert_eq!(block_on(async { talk(plain(server.address()).await).await }), HELLO);
        let server = hello(door.tls(authority.server().unwrap()));
        assert!(server.url("/").starts_with("https://"));
        let text = block_on(async { talk(tls(server.address(), &authority, &[]).await.unwrap().0).await });
        assert_eq!(text, HELLO);
    }
}

#[test]
fn a_socket_file_goes_with_its_server() {
    let server = hello(ListenOptions::unix());
    let path = server.address().path().to_owned();
    assert!(path.exists());
    drop(server);
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[test]
fn certificates_are_good_or_bad_as_asked() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    for (identity, trusted, says) in [
        (authority.expired(), &authority, "xpired"),
        (authority.wrong_name(), &authority, "NotValidForName"),
        (authority.server(), &stranger, "UnknownIssuer"),
    ] {
        let server = hello(ListenOptions::v4().tls(identity.unwrap()));
        let refused = block_on(async { tls(server.address(), trusted, &[]).await.err() });
        let cause = refused.map(|error| format!("{error:?}")).unwrap_or_default();
        assert!(cause.contains(says), "{says}: {cause}");
        let text = block_on(async { plain_after_refusal(&server).await });
        assert!(text.is_err(), "plain text is not answered behind TLS");
        assert_eq!(server.requests(), 0);
    }
}

async fn plain_after_refusal(server: &Server) -> Result<(), String> {
    let mut stream = plain(server.address()).await;
    stream.write_all(ASK_TO_CLOSE).await.map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.map_err(|e| e.to_string())?;
    if bytes.starts_with(b"HTTP/") { Ok(()) } else { Err(format!("{} bytes of alert", bytes.len())) }
}

#[test]
fn alpn_chooses_among_what_is_offered() {
    let authority = Authority::new().unwrap();
    for (door, client, wanted) in [
        (&["h2", "http/1.1"][..], &["http/1.1", "h2"][..], Some(&b"h2"[..])),
        (&["http/1.1"], &["h2", "http/1.1"], Some(b"http/1.1")),
        (&[], &["h2"], None),
    ] {
        let server = hello(ListenOptions::v4().tls(authority.server().unwrap()).offering(door));
        let chosen = block_on(async { tls(server.address(), &authority, client).await.unwrap().1 });
        assert_eq!(chosen.as_deref(), wanted, "{door:?} and {client:?}");
    }
}

#[test]
fn any_bytes_come_in_pieces_with_pauses_and_then_as_told() {
    let bytes: Vec<u8> = (0..=255).collect();
    let pause = Duration::from_millis(5);
    for then in [AfterBytes::Stay, AfterBytes::Close, AfterBytes::Reset] {
        let pieces = pieces::at(&[1, 2, 100], &bytes);
        let server = Server::start(always(Act::Pieces { pieces, pause, then })).unwrap();
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        let begin = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut got = vec![0; bytes.len()];
        // A reset may overtake unread bytes, so the bytes before it may be cut.
        match (stream.read_exact(&mut got), then) {
            (Ok(()), _) => assert!(got == bytes && begin.elapsed() >= pause * 3),
            (Err(error), AfterBytes::Reset) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                continue;
            }
            (Err(error), _) => panic!("{then:?}: {error}"),
        }
        match then {
            AfterBytes::Stay => {
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                stream.read_exact(&mut got).unwrap();
                assert_eq!(got, bytes);
            }
            AfterBytes::Close => assert_eq!(stream.read(&mut got).unwrap(), 0),
            AfterBytes::Reset => {
                let error = stream.read(&mut got).expect_err("a reset");
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
        }
    }
}

#[test]
fn a_held_port_refuses_and_is_nobody_elses() {
    let closed = ClosedPort::new().unwrap();
    for _ in 0..2 {
        let refused = TcpStream::connect(closed.addr()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    assert!(std::net::TcpListener::bind(closed.addr()).is_err());
}

/// Number of reads in which a client gets this text to its end.
fn reads(server: &Server, text: &[u8]) -> usize {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let (mut got, mut reads, mut chunk) = (Vec::new(), 0, [0; 4096]);
    loop {
        let n = stream.read(&mut chunk).unwrap();
        if n == 0 {
            break;
        }
        reads += 1;
        got.extend_from_slice(&chunk[..n]);
    }
    assert_eq!(got, text);
    reads
}

#[test]
fn a_byte_at_a_time_is_read_as_it_comes() {
    let text = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n";
    let act = Act::Pieces {
        pieces: pieces::each(1, text),
        pause: Duration::from_millis(2),
        then: AfterBytes::Close,
    };
    let server = Server::start(always(act)).unwrap();
    // A busy machine may join some of them, or all if the client gets no processor meanwhile; not every time.
    one_of(20, || {
        let reads = reads(&server, text);
        if reads > 4 { Ok(()) } else { Err(format!("no more than {reads} reads of {} bytes", text.len())) }
    });
}
