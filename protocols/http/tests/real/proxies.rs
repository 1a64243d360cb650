//! Through a proxy, and to other addresses than the URL's own.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use barograph_http::{Detour, Fault, Options, Protocol, Proxy, Target, Tls};
use barograph_model::Outcome;
use barograph_testkit::{Act, Answer, Authority, ListenOptions, Request, Server, Site, SiteProtocols};

use super::{failed, get, on_worker, user};

fn through(proxy: SocketAddr, user: &str) -> Options {
    Options { proxy: Some(Proxy::parse(&format!("http://{user}{proxy}")).unwrap()), ..Options::default() }
}

/// A proxy that opens tunnels for `connections` connections, and the heads of the requests to it.
fn tunnels(connections: usize) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    thread::spawn(move || {
        for client in listener.incoming().take(connections) {
            let (client, noted) = (client.unwrap(), Arc::clone(&noted));
            // A client that only probes for it sends nothing.
            thread::spawn(move || tunnel(client, &noted));
        }
    });
    (address, asked)
}

fn tunnel(mut client: TcpStream, noted: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let target = TcpStream::connect(head.split(' ').nth(1).unwrap())?;
    noted.lock().unwrap().push(head);
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut to, mut from) = (target.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Write)));
    io::copy(&mut &target, &mut client)?;
    client.shutdown(Shutdown::Write)
}

#[test]
fn a_target_in_the_clear_is_asked_for_by_its_whole_url() {
    let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let proxy = Server::start(Arc::new(move |request: &Request| {
        noted.lock().unwrap().push(request.clone());
        Act::Answer(Answer::new(200, "from afar"))
    }));
    let proxy = proxy.unwrap();
    on_worker(async {
        let answer = get(&user("http://no.invalid:81/", &through(proxy.addr(), "me:pw@")), "/x?y").await;
        assert_eq!(answer.unwrap().body(), b"from afar");
        let plain = user("http://no.invalid/", &through(proxy.addr(), ""));
        assert_eq!(get(&plain, "/z").await.unwrap().status, 200);
    });
    let asked = asked.lock().unwrap();
    let seen = |r: &Request, name| r.header(name).map(str::to_owned);
    assert_eq!(
        (asked[0].path.as_str(), seen(&asked[0], "host").unwrap()),
        ("http://no.invalid:81/x?y", "no.invalid:81".to_owned())
    );
    assert_eq!(seen(&asked[0], "proxy-authorization").as_deref(), Some("Basic bWU6cHc="));
    assert_eq!(
        (asked[1].path.as_str(), seen(&asked[1], "proxy-authorization")),
        ("http://no.invalid/z", None)
    );
}

#[test]
fn a_target_behind_tls_is_reached_through_a_tunnel_with_both_protocols() {
    let authority = Authority::new().unwrap();
    let door = ListenOptions::v4().tls(authority.server().unwrap()).offering(&["h2", "http/1.1"]);
    let site = Site::start(door, SiteProtocols::Either).unwrap();
    for (protocol, version) in [(Protocol::Http1, "HTTP/1.1"), (Protocol::Http2, "HTTP/2.0")] {
        let (proxy, asked) = tunnels(1);
        let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
        let options = Options { protocol, tls, ..through(proxy, "me:pw@") };
        on_worker(async {
            let connections = user(&site.url("/"), &options);
            let answer = get(&connections, "/echo").await.unwrap();
            assert_eq!(answer.header("x-version"), Some(version.as_bytes()));
            assert_eq!(
                get(&connections, "/headers").await.map(|a| a.body().windows(5).any(|w| w == b"proxy")).ok(),
                Some(false)
            );
            assert_eq!(connections.counters().handshakes, 1);
        });
        let host = site.address().tcp();
        let expected =
            format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\nproxy-authorization: Basic bWU6cHc=\r\n\r\n");
        assert_eq!(*asked.lock().unwrap(), [expected]);
    }
}

#[test]
fn a_proxy_that_opens_no_tunnel_is_named() {
    for (status, why) in [
        (407, "the proxy asks for a user and a password (status 407)"),
        (403, "the proxy opens no tunnel (status 403)"),
    ] {
        let proxy =
            Server::start(Arc::new(move |_: &Request| Act::Answer(Answer::new(status, "no")))).unwrap();
        let fault = on_worker(async {
            failed(get(&user("https://h.invalid/", &through(proxy.addr(), "")), "/").await)
        });
        assert!(matches!(fault, Fault::Proxy { .. }) && fault.outcome() == Outcome::Refused, "{fault:?}");
        assert_eq!(fault.to_string(), why);
    }
    let http2 = Options { protocol: Protocol::Http2, ..through(([127, 0, 0, 1], 1).into(), "") };
    let why = Target::parse("http://h/", &http2).unwrap_err().to_string();
    assert!(why.starts_with("send HTTP/2 in the clear through a proxy"), "{why}");
}

#[test]
fn another_address_is_connected_to_and_the_url_is_asked_for() {
    let authority = Authority::new().unwrap();
    let site =
        Site::start(ListenOptions::v4().tls(authority.wrong_name().unwrap()), SiteProtocols::Http1).unwrap();
    let port = site.address().tcp().port();
    let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
    let detour = Detour::resolve(&format!("other.invalid:{port}:127.0.0.1")).unwrap();
    let moved = Detour::connect_to(&format!("other.invalid:443:127.0.0.1:{port}")).unwrap();
    let options = Options { tls, detours: vec![detour, moved], ..Options::default() };
    for (url, host) in [
        (format!("https://other.invalid:{port}/"), format!("host: other.invalid:{port}\n")),
        ("https://other.invalid/".to_owned(), "host: other.invalid\n".to_owned()),
    ] {
        let answer =
            on_worker(async { get(&user(&url, &options), "/headers").await.unwrap().body().to_vec() });
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(&host), "{answer}");
    }
}
