//! Sharing of connections, counted at the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use barograph_http::{Client, Connections, Options, Policy, Protocol, Target};
use barograph_testkit::{Act, Answer as Told, ListenOptions, Server, Site, SiteProtocols};
use futures::future::join_all;

use super::{HELD, get, let_go, on_worker};

const USERS: u32 = 10;

/// Some users of one client, and the client.
fn users(url: &str, options: &Options) -> Vec<Connections> {
    let client = Client::new(&Target::parse(url, options).unwrap().resolve().unwrap());
    (0..USERS).map(|n| client.user(n)).collect()
}

/// Every user sends `at_once` requests side by side, and then again.
async fn load(users: &[Connections], at_once: usize) {
    for _ in 0..2 {
        let all = users.iter().flat_map(|user| (0..at_once).map(move |_| get(user, "/delay/20")));
        for answer in join_all(all).await {
            assert_eq!(answer.unwrap().body(), b"hello");
        }
    }
}

/// Connections opened at the site, and its highest number of concurrent requests.
fn seen(policy: Policy, protocol: Protocol, at_once: usize) -> (u64, u64) {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    let options = Options { policy, protocol, streams: 20, ..Options::default() };
    on_worker(async {
        let users = users(&site.url("/"), &options);
        load(&users, at_once).await;
        let counters = users[0].counters();
        assert_eq!(counters.opened, site.connections());
    });
    (site.connections(), site.most_at_once())
}

/// The same for users whose requests are all held until the last of them has arrived.
fn seen_held(policy: Policy, at_once: usize) -> (u64, u64) {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    let options = Options { policy, protocol: Protocol::Http2, streams: 20, ..Options::default() };
    on_worker(async {
        let users = users(&site.url("/"), &options);
        let all = join_all(users.iter().flat_map(|user| (0..at_once).map(move |_| get(user, HELD))));
        let (all, ()) = futures::join!(all, let_go(&site, u64::from(USERS) * at_once as u64));
        for answer in all {
            assert_eq!(answer.unwrap().status, 200);
        }
    });
    (site.connections(), site.most_at_once())
}

#[test]
fn users_have_their_own_share_a_pool_or_take_new_ones() {
    let http1 = Protocol::Http1;
    assert_eq!(seen(Policy::PerUser(1), http1, 3).0, 10);
    assert_eq!(seen(Policy::PerUser(3), http1, 3).0, 30);
    assert_eq!(seen(Policy::PerUser(6), http1, 3).0, 30);
    assert_eq!(seen(Policy::Shared(4), http1, 3).0, 4);
    assert_eq!(seen(Policy::New, http1, 3).0, 60);
    assert!(seen(Policy::Shared(4), http1, 3).1 <= 4);
}

#[test]
fn over_http2_requests_share_a_connection() {
    let http2 = Protocol::Http2;
    assert_eq!(seen(Policy::PerUser(1), http2, 15).0, 10);
    assert_eq!(seen_held(Policy::PerUser(1), 15), (10, 150));
    // 15 fit on one connection of 20; 30 need two.
    assert_eq!(seen(Policy::PerUser(6), http2, 15).0, 10);
    assert_eq!(seen(Policy::PerUser(6), http2, 30).0, 20);
    assert_eq!(seen(Policy::Shared(3), http2, 2).0, 3);
    assert_eq!(seen(Policy::New, http2, 2).0, 40);
}

#[test]
fn idle_connections_are_closed_when_asked() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        on_worker(async {
            let options = Options { protocol, ..Options::default() };
            let users = users(&site.url("/"), &options);
            get(&users[0], "/hello").await.unwrap();
            users[0].close_idle();
            get(&users[0], "/hello").await.unwrap();
            assert_eq!(users[0].counters().opened, 2);
        });
    }
}

/// Requests by source address.
fn sources(options: &Options, users_asking: u32) -> BTreeMap<String, u32> {
    // The addresses are seen from outside: a listener that answers one request per connection.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let seen: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for _ in 0..users_asking {
            let (mut stream, from) = listener.accept().unwrap();
            *noted.lock().unwrap().entry(from.ip().to_string()).or_default() += 1;
            let _ = stream.read(&mut [0; 1_000]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        }
    });
    on_worker(async {
        let client = Client::new(&Target::parse(&url, options).unwrap().resolve().unwrap());
        for n in 0..users_asking {
            get(&client.user(n), "/").await.unwrap();
        }
    });
    server.join().unwrap();
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[test]
fn source_addresses_take_turns() {
    let list = vec!["127.0.0.5".parse().unwrap(), "127.0.0.6".parse().unwrap(), "::1".parse().unwrap()];
    for policy in [Policy::PerUser(1), Policy::Shared(1), Policy::New] {
        let options = Options { policy, sources: list.clone(), ..Options::default() };
        let expected = BTreeMap::from([("127.0.0.5".to_owned(), 5), ("127.0.0.6".to_owned(), 5)]);
        assert_eq!(sources(&options, 10), expected, "{policy:?}");
    }
    let spread = sources(&Options::default(), 30);
    assert_eq!(spread.len(), 30);
    assert!(spread.keys().all(|from| from.starts_with("127.0.1.")), "{spread:?}");
}

#[test]
fn a_kept_connection_that_was_closed_is_replaced_once_for_safe_requests_only() {
    // The server closes after each answer without announcing it.
    let server = Server::start(Arc::new(|_| Act::Pieces {
        pieces: vec![b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec()],
        pause: std::time::Duration::ZERO,
        then: barograph_testkit::AfterBytes::Close,
    }))
    .unwrap();
    on_worker(async {
        let users = users(&format!("http://{}/", server.addr()), &Options::default());
        for _ in 0..20 {
            assert_eq!(get(&users[0], "/").await.unwrap().body(), b"ok");
        }
        let counters = users[0].counters();
        assert_eq!(counters.opened, 20);
        assert_eq!(server.requests(), 20);
    });
    // A connection that is reset while the request is on its way: a safe request is repeated once, another is
    // not.
    for (method, answered) in [(barograph_http::Method::GET, true), (barograph_http::Method::POST, false)] {
        let server = Server::start(Arc::new(|request: &barograph_testkit::Request| match request.n {
            1 => Act::Refuse,
            _ => Act::Answer(Told::new(200, "ok")),
        }))
        .unwrap();
        on_worker(async {
            let users = users(&format!("http://{}/", server.addr()), &Options::default());
            super::ask(&users[0], method, "/").await.unwrap();
            assert_eq!(super::ask(&users[0], method, "/").await.is_ok(), answered);
            assert_eq!(users[0].repeated(), u64::from(answered));
        });
    }
}
