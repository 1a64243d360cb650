//! Streams of Server-Sent Events.

use barograph_http::{Connections, EventStream, Fault, Method, Options, Protocol, Request};
use barograph_testkit::{
    Act, AfterBytes, Authority, ListenOptions, Server, Site, SiteProtocols, always, pieces,
};

use super::{failed, get, on_worker, user};

async fn open(connections: &Connections, path: &str) -> Result<EventStream, Fault> {
    let headers = &[("accept", "text/event-stream")];
    connections
        .events(&Request { method: Method::GET, path: format_args!("{path}"), headers, body: None })
        .await
}

/// Name, identifier and data of all events.
async fn all(stream: &mut EventStream) -> Result<Vec<(String, String, String)>, Fault> {
    let mut found = Vec::new();
    while let Some(event) = stream.next().await? {
        found.push((event.name.to_owned(), event.id.to_owned(), event.data.to_owned()));
    }
    Ok(found)
}

#[test]
fn events_come_one_after_the_other_over_every_protocol() {
    let authority = Authority::new().unwrap();
    let plain = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    let door = ListenOptions::v4().tls(authority.server().unwrap()).offering(&["h2", "http/1.1"]);
    let secured = Site::start(door, SiteProtocols::Either).unwrap();
    for site in [&plain, &secured] {
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Auto] {
            let tls = barograph_http::Tls {
                authorities: Some(authority.ca_pem().as_bytes().into()),
                ..Default::default()
            };
            on_worker(async {
                let connections = user(&site.url("/"), &Options { protocol, tls, ..Options::default() });
                let mut stream = open(&connections, "/events/5/1").await.unwrap();
                assert_eq!(stream.head().header("content-type"), Some(&b"text/event-stream"[..]));
                let found = all(&mut stream).await.unwrap();
                assert_eq!(found.len(), 5);
                for (n, (name, id, data)) in found.iter().enumerate() {
                    let number: usize = id.parse().unwrap();
                    assert_eq!((name.as_str(), data), ("tick", &format!("{{\"n\":{number}}}")));
                    assert_eq!(number - found[0].1.parse::<usize>().unwrap(), n);
                }
            });
        }
    }
}

#[test]
fn a_stream_has_a_connection_beside_the_policy_and_closes_it_when_dropped() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let options = Options { policy: barograph_http::Policy::PerUser(1), ..Options::default() };
        let connections = user(&site.url("/"), &options);
        let mut stream = open(&connections, "/feed").await.unwrap();
        // The one connection of the user is still free.
        assert_eq!(get(&connections, "/hello").await.unwrap().status, 200);
        site.publish("news");
        assert_eq!(stream.next().await.unwrap().unwrap().data, "news");
        assert_eq!(connections.counters().opened, 2);
        drop(stream);
        assert_eq!(connections.counters().closed, 1);
    });
}

#[test]
fn a_wait_that_is_dropped_loses_no_event() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &Options::default());
        let mut stream = open(&connections, "/feed").await.unwrap();
        for n in 0..20 {
            assert!(futures::poll!(std::pin::pin!(stream.next())).is_pending());
            site.publish(&n.to_string());
            assert_eq!(stream.next().await.unwrap().unwrap().data, n.to_string());
        }
    });
}

#[test]
fn another_answer_is_no_stream() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &Options::default());
        assert!(matches!(failed(open(&connections, "/status/503").await), Fault::Status(503)));
        assert!(matches!(failed(open(&connections, "/hello").await), Fault::NoEvents { .. }));
    });
}

#[test]
fn events_in_any_two_pieces_and_any_framing_are_the_same() {
    let events = "\u{feff}id: 1\r\ndata: a\ndata: b\r\r\n: c\n\nevent: e\ndata:x\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n";
    let chunked: String =
        events.split_inclusive('a').map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
    for wire in [
        format!("{head}\r\n{events}"),
        format!("{head}content-length: {}\r\n\r\n{events}", events.len()),
        format!("{head}transfer-encoding: chunked\r\n\r\n{chunked}0\r\n\r\n"),
    ] {
        let step = wire.len() / 25 + 1;
        for two in (1..wire.len()).step_by(step).map(|cut| pieces::at(&[cut], wire.as_bytes())) {
            let pause = std::time::Duration::from_millis(1);
            let server =
                Server::start(always(Act::Pieces { pieces: two, pause, then: AfterBytes::Close })).unwrap();
            on_worker(async {
                let connections = user(&format!("http://{}/", server.addr()), &Options::default());
                let mut stream = open(&connections, "/").await.unwrap();
                let event =
                    |name: &str, id: &str, data: &str| (name.to_owned(), id.to_owned(), data.to_owned());
                let expected = [event("message", "1", "a\nb"), event("e", "1", "x")];
                assert_eq!(all(&mut stream).await.unwrap(), expected);
            });
        }
    }
}

#[test]
fn a_cut_stream_is_broken_and_an_endless_line_is_too_large() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let cut = format!("{head}content-length: 100\r\n\r\ndata: x\n\n").into_bytes();
    let endless = format!("{head}\r\ndata: {}", "x".repeat(2_000)).into_bytes();
    for (wire, is_cut) in [(cut, true), (endless, false)] {
        let server = Server::start(always(Act::Garbage(wire))).unwrap();
        on_worker(async {
            let options = Options { body_limit: 1_000, ..Options::default() };
            let connections = user(&format!("http://{}/", server.addr()), &options);
            let mut stream = open(&connections, "/").await.unwrap();
            let fault = failed(all(&mut stream).await);
            let expected = if is_cut {
                matches!(fault, Fault::Broken(_))
            } else {
                matches!(fault, Fault::TooLarge { .. })
            };
            assert!(expected, "{fault:?}");
        });
    }
}
