//! The site over both protocols, in the clear, over TLS and over a Unix socket.

use barograph_testkit::{Authority, ListenOptions, Site, SiteProtocols};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Client, block_on, plain, tls};

/// Runs a check over every combination of protocol and door.
fn everywhere(check: &impl AsyncFn(&Client, &Site)) {
    let authority = Authority::new().unwrap();
    let covered = ListenOptions::v4().tls(authority.server().unwrap()).offering(&["h2", "http/1.1"]);
    for speaks in [SiteProtocols::Http1, SiteProtocols::Http2] {
        for door in [ListenOptions::v4(), ListenOptions::unix()] {
            let site = Site::start(door, speaks).unwrap();
            block_on(async {
                let stream = plain(site.address()).await;
                check(&client(stream, speaks).await, &site).await;
            });
        }
        let site = Site::start(covered.clone(), SiteProtocols::Either).unwrap();
        block_on(async {
            let wanted = if speaks == SiteProtocols::Http2 { "h2" } else { "http/1.1" };
            let (stream, chosen) = tls(site.address(), &authority, &[wanted]).await.unwrap();
            assert_eq!(chosen.as_deref(), Some(wanted.as_bytes()));
            check(&client(stream, speaks).await, &site).await;
        });
    }
}

async fn client(stream: crate::client::Stream, speaks: SiteProtocols) -> Client {
    match speaks {
        SiteProtocols::Http2 => Client::http2(stream).await.unwrap(),
        SiteProtocols::Http1 | SiteProtocols::Either => Client::http1(stream).await.unwrap(),
    }
}

#[test]
fn bodies_of_all_kinds_arrive_on_one_connection() {
    everywhere(&async |client, site| {
        let bytes = Site::bytes(1000);
        for (path, status, body) in [
            ("/hello", 200, &b"hello"[..]),
            ("/bytes/1000", 200, &bytes),
            ("/chunks/1000/7", 200, &bytes),
            ("/slow/30/10/1", 200, &bytes[..30]),
            ("/delay/1", 200, b"hello"),
            ("/status/503", 503, b"status 503"),
            ("/status/204", 204, b""),
            ("/status/304", 304, b""),
            ("/status/100", 404, b"no such route"),
            ("/redirect", 302, b""),
            ("/none", 404, b"no such route"),
            ("/bytes/99999999999", 404, b"no such route"),
        ] {
            let got = client.get(path).await.unwrap();
            assert_eq!((got.status, &got.body[..]), (status, body), "{path}");
            // The library does not state the length of an empty body in every case, and need not.
            if !body.is_empty() {
                let whole = !path.starts_with("/chunks") && !path.starts_with("/slow");
                assert_eq!(got.header("content-length").is_some(), whole, "{path}");
            }
        }
        assert_eq!((site.connections(), site.requests()), (1, 12));
    });
}

#[test]
fn heads_trailers_echoes_and_sessions() {
    everywhere(&async |client, _| {
        let head = client.ask(client.request("HEAD", "/bytes/1000")).await.unwrap();
        assert_eq!((head.header("content-length"), head.text()), (Some("1000"), ""));
        let got = client.get("/trailers").await.unwrap();
        assert_eq!(got.text(), "with trailers");
        assert_eq!(got.trailers.unwrap().get("x-end").unwrap(), "yes");

        let post = client.request("POST", "/echo").map(|_| Full::new(Bytes::from("{}")));
        let got = client.ask(post).await.unwrap();
        let version = if matches!(client, Client::Two(_)) { "HTTP/2.0" } else { "HTTP/1.1" };
        assert_eq!(
            (got.text(), got.header("x-method"), got.header("x-version")),
            ("{}", Some("POST"), Some(version))
        );

        let with = |name: &'static str, value: &str, path: &str| {
            let mut request: Request<Full<Bytes>> = client.request("GET", path);
            request.headers_mut().insert(name, value.parse().unwrap());
            request
        };
        let got = client.ask(with("x-some", "thing", "/headers")).await.unwrap();
        assert!(got.text().contains("x-some: thing\n"), "{}", got.text());
        assert_eq!(client.get("/me").await.unwrap().status, 401);
        for session in ["0", "1"] {
            let cookie = client.get("/cookie").await.unwrap();
            let cookie = cookie.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
            let me = client.ask(with("cookie", &format!("a=b; {cookie}"), "/me")).await.unwrap();
            assert_eq!((me.status, me.text()), (200, session));
        }
    });
}

#[test]
fn breaks_are_seen_and_goodbyes_end_the_connection() {
    everywhere(&async |client, site| {
        assert_eq!(client.get("/close").await.unwrap().text(), "goodbye");
        let mut late = 0;
        while client.get("/hello").await.is_ok() {
            late += 1;
            // HTTP/2 accepts requests that arrive while its farewell is on the way, and no more.
            assert!(late < 1000 && matches!(client, Client::Two(_)), "{late} requests after the farewell");
        }
        assert_eq!(site.connections(), 1);
    });
    everywhere(&async |client, _| {
        let broken = client.get("/abort").await;
        assert!(broken.is_err(), "{broken:?}");
        let after = client.get("/hello").await;
        // A broken stream of HTTP/2 leaves the others alone; HTTP/1.1 has only the connection to break.
        assert_eq!(after.is_ok(), matches!(client, Client::Two(_)));
    });
}

#[test]
fn a_site_refuses_the_protocol_it_does_not_speak_and_either_takes_both() {
    block_on(async {
        let one = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
        let two = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
        let either = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
        let wrong = Client::http1(plain(two.address()).await).await.unwrap();
        assert!(wrong.get("/hello").await.is_err());
        let wrong = Client::http2(plain(one.address()).await).await.unwrap();
        assert!(wrong.get("/hello").await.is_err());
        for client in [
            Client::http1(plain(either.address()).await).await.unwrap(),
            Client::http2(plain(either.address()).await).await.unwrap(),
        ] {
            assert_eq!(client.get("/hello").await.unwrap().text(), "hello");
        }
        assert_eq!((one.requests(), two.requests(), either.requests()), (0, 0, 2));
    });
}

#[test]
fn streams_of_one_connection_are_in_work_at_once() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    block_on(async {
        let client = Client::http2(plain(site.address()).await).await.unwrap();
        let all = futures::future::join_all((0..20).map(|_| client.get("/poll/20000?after=0")));
        let publish = async {
            while site.requests() < 20 {
                tokio::task::yield_now().await;
            }
            site.publish("go");
        };
        let (all, ()) = futures::future::join(all, publish).await;
        assert!(all.into_iter().all(|got| got.unwrap().text() == r#"{"n":1,"text":"go"}"#));
    });
    assert_eq!((site.connections(), site.most_at_once()), (1, 20));
}

#[test]
fn http1_on_the_wire() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    block_on(async {
        let mut stream = plain(site.address()).await;
        stream
            .write_all(b"POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
            .await
            .unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream
            .write_all(b"hiGET /chunks/5/3 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (echo, chunks) = text.split_once("\r\n\r\nhi").unwrap();
        assert!(echo.starts_with("HTTP/1.1 200 OK\r\n") && echo.contains("content-length: 2"), "{echo}");
        assert!(chunks.contains("transfer-encoding: chunked\r\n"), "{chunks}");
        assert!(chunks.ends_with("\r\n\r\n3\r\n\0\u{1}\u{2}\r\n2\r\n\u{3}\u{4}\r\n0\r\n\r\n"), "{chunks:?}");
    });
}
