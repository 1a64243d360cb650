//! HTTP/2 alone: multiplexing, resets, connections that end, and peers that do not speak it.

use barograph_http::{Fault, Method, Options, Protocol};
use barograph_testkit::{Act, ListenOptions, Server, Site, SiteProtocols, always};
use futures::FutureExt as _;
use futures::future::join_all;

use super::{HELD, ask, failed, get, let_go, on_worker, user};

fn options() -> Options {
    Options { protocol: Protocol::Http2, ..Options::default() }
}

#[test]
fn many_requests_are_on_their_way_at_once_and_each_gets_its_answer() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &options());
        let paths: Vec<String> = (0..30).map(|n| format!("/slow/{}/500/1", 1_000 + n)).collect();
        let slow = join_all(paths.iter().map(|path| get(&connections, path)));
        let held = join_all((0..30).map(|_| get(&connections, HELD)));
        let (slow, held, ()) = futures::join!(slow, held, let_go(&site, 60));
        for (n, answer) in slow.into_iter().enumerate() {
            assert!(answer.unwrap().body() == Site::bytes(1_000 + n));
        }
        assert!(held.into_iter().all(|answer| answer.unwrap().body() == br#"{"n":1,"text":"go"}"#));
    });
    assert_eq!(site.connections(), 1);
    assert!(site.most_at_once() >= 30, "{} at once", site.most_at_once());
}

#[test]
fn more_than_the_window_comes_through() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &options());
        for _ in 0..3 {
            assert_eq!(get(&connections, "/bytes/9000000").await.unwrap().body().len(), 9_000_000);
        }
    });
}

#[test]
fn a_reset_ends_its_request_and_nothing_else() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &options());
        let (slow, broken) = futures::join!(get(&connections, "/delay/30"), get(&connections, "/abort"));
        assert_eq!(slow.unwrap().body(), b"hello");
        assert!(matches!(failed(broken), Fault::Reset { .. }));
    });
    assert_eq!(site.connections(), 1);
}

#[test]
fn a_dropped_request_leaves_its_connection_to_the_others() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &options());
        get(&connections, "/hello").await.unwrap();
        {
            let never = std::pin::pin!(get(&connections, "/never").fuse());
            let soon = std::pin::pin!(get(&connections, "/delay/20").fuse());
            let first = futures::future::select(never, soon).await;
            assert!(matches!(first, futures::future::Either::Right((Ok(_), _))));
        }
        assert_eq!(get(&connections, "/hello").await.unwrap().body(), b"hello");
    });
    assert_eq!(site.connections(), 1);
}

#[test]
fn after_a_goodbye_the_next_request_has_a_new_connection() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &options());
        for _ in 0..10 {
            assert_eq!(get(&connections, "/close").await.unwrap().status, 200);
            assert_eq!(get(&connections, "/hello").await.unwrap().status, 200);
        }
    });
    // A goodbye in good order may come after the request that follows, which is then still answered.
    assert!((2..=11).contains(&site.connections()), "{} connections", site.connections());
}

#[test]
fn a_peer_of_another_protocol_is_garbage_or_broken() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let other = Server::start(always(Act::Garbage(b"220 mail.example ready\r\n".to_vec()))).unwrap();
    on_worker(async {
        for url in [site.url("/"), format!("http://{}/", other.addr())] {
            let fault = failed(ask(&user(&url, &options()), Method::POST, "/").await);
            assert!(matches!(fault, Fault::Frames { .. } | Fault::Broken(_)), "{url}: {fault:?}");
        }
    });
}
