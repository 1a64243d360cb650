//! All ways in which an answer ends, over every way to reach a target.

use barograph_http::{Fault, Method, Options, Protocol};
use barograph_testkit::{
    Act, AfterBytes, Authority, ListenOptions, Server, Site, SiteProtocols, always, has_ipv6, pieces,
};

use super::{ask, failed, get, on_worker, reaching, user};

/// The same requests to the same site, over any way to reach it.
async fn everything(site: &Site, options: &Options) {
    let connections = user(&site.url("/"), options);
    assert_eq!(get(&connections, "/hello").await.unwrap().body(), b"hello");
    for path in ["/bytes/300000", "/chunks/300000/7000", "/slow/2000/700/1"] {
        let answer = get(&connections, path).await.unwrap();
        let wanted = if path.contains("300000") { 300_000 } else { 2_000 };
        assert!(answer.body() == Site::bytes(wanted), "{path}: {} bytes", answer.body().len());
        let mut draft = connections.draft(Method::GET);
        draft.path().extend_from_slice(path.as_bytes());
        draft.counts_body(true);
        let counted = connections.send_draft(draft).await.unwrap();
        assert_eq!((counted.body_length(), counted.wire_bytes()), (wanted, answer.wire_bytes()), "{path}");
        assert!(counted.body() == &Site::bytes(wanted)[..wanted.min(16 * 1024)], "{path}");
    }
    let body = Site::bytes(400_000);
    let request = barograph_http::Request {
        method: Method::PUT,
        path: format_args!("/echo"),
        headers: &[("content-type", "x/y")],
        body: Some(&body),
    };
    let echo = connections.send(&request).await.unwrap();
    assert!(echo.body() == body && echo.header("content-type") == Some(b"x/y"));
    assert_eq!(get(&connections, "/status/503").await.unwrap().status, 503);
    assert!(matches!(failed(get(&connections, "/abort").await), Fault::Broken(_) | Fault::Reset { .. }));
    assert_eq!(get(&connections, "/close").await.unwrap().status, 200);
    assert_eq!(get(&connections, "/hello").await.unwrap().body(), b"hello");
    let counters = connections.counters();
    assert!(counters.bytes_in > 1_000_000 && counters.bytes_out > 400_000, "{counters:?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "a skipped part says why")]
fn every_way_and_protocol_gives_the_same_answers() {
    let authority = Authority::new().unwrap();
    let mut doors: Vec<fn() -> ListenOptions> = vec![ListenOptions::v4, ListenOptions::unix];
    if has_ipv6() {
        doors.push(ListenOptions::v6);
    } else {
        println!("skipped for IPv6: this machine has no ::1");
    }
    for door in doors {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let site = Site::start(door(), SiteProtocols::Either).unwrap();
            on_worker(everything(&site, &Options { protocol, ..reaching(&site) }));
            let identity = authority.server().unwrap();
            let site = Site::start(door().tls(identity).offering(&["h2", "http/1.1"]), SiteProtocols::Either)
                .unwrap();
            let tls = barograph_http::Tls {
                authorities: Some(authority.ca_pem().as_bytes().into()),
                ..Default::default()
            };
            on_worker(everything(&site, &Options { protocol, tls, ..reaching(&site) }));
        }
    }
}

#[test]
fn trailers_are_found_by_name() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    on_worker(async {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let connections = user(&site.url("/"), &Options { protocol, ..Options::default() });
            let request = barograph_http::Request {
                method: Method::GET,
                path: format_args!("/trailers"),
                headers: &[("te", "trailers")],
                body: None,
            };
            let answer = connections.send(&request).await.unwrap();
            assert_eq!((answer.body(), answer.trailer("X-End")), (&b"with trailers"[..], Some(&b"yes"[..])));
            assert_eq!(answer.trailer("x-other"), None);
        }
    });
}

#[test]
fn a_body_beyond_the_limit_is_too_large_however_it_is_framed() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    on_worker(async {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let options = Options { protocol, body_limit: 1_000, ..Options::default() };
            let connections = user(&site.url("/"), &options);
            for path in ["/bytes/1001", "/chunks/1001/100"] {
                assert!(
                    matches!(failed(get(&connections, path).await), Fault::TooLarge { limit: 1_000 }),
                    "{path}"
                );
            }
            assert_eq!(get(&connections, "/chunks/1000/100").await.unwrap().body().len(), 1_000);
        }
    });
}

#[test]
fn an_answer_in_any_two_pieces_is_the_same_answer() {
    let wire = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: y\r\n\r\n";
    for two in (1..wire.len()).map(|cut| pieces::at(&[cut], wire)) {
        let pause = std::time::Duration::from_millis(1);
        let server =
            Server::start(always(Act::Pieces { pieces: two, pause, then: AfterBytes::Stay })).unwrap();
        on_worker(async {
            let connections = user(&format!("http://{}/", server.addr()), &Options::default());
            let answer = ask(&connections, Method::GET, "/").await.unwrap();
            assert_eq!((answer.body(), answer.trailer("x")), (&b"ok"[..], Some(&b"y"[..])));
        });
    }
}

#[test]
fn a_body_until_the_end_is_whole_when_the_peer_closes_and_broken_when_it_resets() {
    let body = b"HTTP/1.1 200 OK\r\n\r\nall of it".to_vec();
    for (then, whole) in [(AfterBytes::Close, true), (AfterBytes::Reset, false)] {
        let act = Act::Pieces { pieces: vec![body.clone()], pause: std::time::Duration::ZERO, then };
        let server = Server::start(always(act)).unwrap();
        on_worker(async {
            let connections = user(&format!("http://{}/", server.addr()), &Options::default());
            let end = get(&connections, "/").await;
            assert_eq!(end.as_ref().is_ok_and(|a| a.body() == b"all of it"), whole);
            assert!(whole || matches!(end, Err(Fault::Broken(_))));
        });
    }
}
