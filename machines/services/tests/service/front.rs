//! nginx, httpd and HAProxy in front of nodes.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use barograph_services::{Flavour, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use crate::FLAVOURS;
use crate::backend::Backend;
use crate::said::{ask, connect, http, request};
use crate::stand::{InstanceSpec, TestSite, or_skip, until};

fn body(at: SocketAddr, method: &str, path: &str) -> String {
    let (head, body) = http(at, method, path, "API_TOKEN: secret\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    body
}

struct Nodes {
    application: [Backend; 2],
    bids: Backend,
}

impl Nodes {
    fn start() -> Self {
        let application = ["app-1", "app-2"].map(Backend::start);
        Nodes { application, bids: Backend::start("bids-1") }
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        let [one, two] = &self.application;
        vec![
            ("servers", format!("app-1={} app-2={}", one.at, two.at)),
            ("bid_servers", format!("bids-1={}", self.bids.at)),
        ]
    }
}

/// Checks that every node of the application gets requests, that bids, live auctions and the item on sale go
/// to the bid node, and that headers pass.
fn assert_routes(at: SocketAddr, nodes: &Nodes) {
    for _ in 0..4 {
        assert!(body(at, "GET", "/auction/user/1").contains("/auction/user/1 token secret"));
    }
    assert!(nodes.application.iter().all(|node| node.asked() > 0), "one of the nodes is not asked");
    for (method, path) in [
        ("POST", "/auction/bid"),
        ("GET", "/auction/bid/user/3"),
        ("GET", "/auction/bid/auction/1/item/2/count/3"),
        ("GET", "/auction/live/auction"),
        ("GET", "/auction/item/current/auction/7"),
    ] {
        assert_eq!(body(at, method, path), format!("bids-1 {path} token secret"));
    }
    assert!(body(at, "GET", "/auction/item/7").starts_with("app-"));
}

/// Checks that a stream's data arrive before it ends.
fn assert_streams(at: SocketAddr, nodes: &Nodes) {
    let mut stream = connect(at);
    let question = request("GET", "/auction/bid/auction/1/events", "");
    let first = ask(&mut stream, question.as_bytes(), "data: first\n\n");
    assert!(first.contains("data: first"), "{first}");
    nodes.bids.let_go();
    assert!(ask(&mut stream, b"", "data: last").contains("data: last"));
}

async fn web(service: &'static Service, flavour: Flavour, stand: &TestSite) {
    let nodes = Nodes::start();
    let up =
        stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &nodes.values() }).await;
    assert_routes(up.main(), &nodes);
    assert_streams(up.main(), &nodes);
    // A public picture is fetched once, for any number of clients, and stored on the disk.
    let before: u32 = nodes.application.iter().map(Backend::asked).sum();
    let first = body(up.main(), "GET", "/auction/image/9/FULL");
    let pictures = up.unit.workdir.join("pictures");
    // A server with several workers may answer before the picture is in its final place.
    until("picture in its place", || holds(&pictures, "/auction/image/9/FULL token secret").then_some(()))
        .await;
    let (head, again) = http(up.main(), "GET", "/auction/image/9/FULL", "API_TOKEN: other\r\n").unwrap();
    assert_eq!(first, again);
    assert!(head.to_lowercase().contains("cache") && head.contains("HIT"), "{head}");
    assert_eq!(nodes.application.iter().map(Backend::asked).sum::<u32>(), before + 1);
    assert!(holds(&pictures, "/auction/image/9/FULL token secret"));
    up.assert_listens_at_home();
    up.assert_version();
    up.stop().await;
}

/// Whether a file below a folder contains a text and has its final name. Until a file is complete, nginx adds
/// a number to its name, and httpd a prefix `aptmp`. A file that is renamed meanwhile is not found under its
/// old name.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let is_number = |end: &std::ffi::OsStr| end.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let is_whole = !path.extension().is_some_and(is_number)
            && !entry.file_name().as_encoded_bytes().starts_with(b"aptmp");
        is_whole && String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(text)
    })
}

/// A certificate for 127.0.0.9 and its key, in files.
fn certificate(stand: &TestSite) -> (CertificateDer<'static>, Vec<(&'static str, String)>) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.9".to_owned()]).unwrap();
    let (certificate, key) = (stand.path("cert.pem"), stand.path("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let values = [("tls_certificate", certificate), ("tls_key", key)];
    (made.cert.der().clone(), values.map(|(name, path)| (name, path.display().to_string())).to_vec())
}

/// Answer over TLS from the server with this certificate.
async fn over_tls(at: SocketAddr, certificate: CertificateDer<'static>, path: &str) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(at).await.unwrap();
    let name = ServerName::IpAddress("127.0.0.9".parse::<std::net::IpAddr>().unwrap().into());
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(request("GET", path, "").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Some servers close the connection without close_notify.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn web_with_tls(service: &'static Service, flavour: Flavour, stand: &TestSite) {
    let nodes = Nodes::start();
    let (der, tls) = certificate(stand);
    let values = [nodes.values(), tls].concat();
    let name = format!("tls-{}", flavour.name());
    let up = stand.start(service, InstanceSpec { name: &name, flavour, values: &values }).await;
    let answer = over_tls(up.main(), der, "/auction/user/1").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("/auction/user/1 token none"), "{answer}");
    assert_eq!(http(up.at("plain"), "GET", "/barograph/ready", "").unwrap().1, "ready\n");
    up.assert_listens_at_home();
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_is_a_web_tier() {
    let Some([service]) = or_skip(["nginx"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        web(service, flavour, &stand).await;
        web_with_tls(service, flavour, &stand).await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn httpd_is_a_web_tier() {
    let Some([service]) = or_skip(["httpd"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        web(service, flavour, &stand).await;
        web_with_tls(service, flavour, &stand).await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_balances_requests_and_leaves_out_the_dead() {
    let Some([service]) = or_skip(["haproxy"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let nodes = Nodes::start();
        // A port at which nothing listens: the server is out after two checks.
        let mut values = nodes.values();
        values[0].1 = format!("{} dead=127.0.0.8:{}", values[0].1, stand.port());
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        until("dead server that is out", || {
            let (_, table) = http(up.at("stats"), "GET", "/stats;csv", "").unwrap();
            table.lines().find(|line| line.starts_with("servers,dead,"))?.contains(",DOWN,").then_some(())
        })
        .await;
        assert_routes(up.main(), &nodes);
        assert_streams(up.main(), &nodes);
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_passes_connections_on() {
    let Some([service, nginx]) = or_skip(["haproxy", "nginx"]) else { return };
    let stand = TestSite::new().await;
    let nodes = Nodes::start();
    let (der, tls) = certificate(&stand);
    let values = [nodes.values(), tls].concat();
    let flavour = Flavour::Tuned;
    let web = stand.start(nginx, InstanceSpec { name: "web", flavour, values: &values }).await;
    let values = [
        ("mode", "tcp".to_owned()),
        ("check", "https".to_owned()),
        ("servers", format!("web={}", web.main())),
    ];
    let up = stand.start(service, InstanceSpec { name: "balancer", flavour, values: &values }).await;
    // The certificate is the web server's: nothing in between decrypts the traffic.
    let answer = over_tls(up.main(), der, "/auction/user/1").await;
    assert!(answer.contains("/auction/user/1 token none"), "{answer}");
    let (_, table) = http(up.at("stats"), "GET", "/stats;csv", "").unwrap();
    let checked = until("check over TLS", || {
        let (_, table) = http(up.at("stats"), "GET", "/stats;csv", "").unwrap();
        table
            .lines()
            .find(|line| line.starts_with("servers,web,") && line.contains(",L7OK,"))
            .map(str::to_owned)
    });
    assert!(checked.await.contains(",UP,"), "{table}");
    up.stop().await;
    web.stop().await;
    stand.end().await;
}
