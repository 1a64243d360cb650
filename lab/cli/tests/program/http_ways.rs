//! Transports of `barograph http`: TLS, HTTP/2, Unix sockets, bodies, pools; and a real nginx.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_test_services as services;
use barograph_testkit::{Authority, ListenOptions, Site, SiteProtocols};
use serde_json::Value;

use crate::http::{http, result, site};
use crate::place::TestFolders;

/// A short measurement of `url` with further arguments. Its window is longer than a busy machine leaves a
/// program without a processor.
fn measured(place: &TestFolders, url: &str, words: &[&str]) -> Value {
    let all: Vec<&str> = [url, "-d", "4s", "-c", "4", "--json", "-q"].iter().chain(words).copied().collect();
    let ended = http(place, &all);
    let result = result(&ended, 0);
    assert!(result["errors"] == 0 && result["requests"].as_u64().unwrap() > 10, "{ended:?}");
    result
}

#[test]
fn certificates_are_verified_unless_somebody_says_otherwise() {
    let place = TestFolders::without_data();
    let authority = Authority::new().unwrap();
    let site =
        Site::start(ListenOptions::v4().tls(authority.server().unwrap()), SiteProtocols::Http1).unwrap();
    let url = site.url("/hello");
    let refused = http(&place, &[&url, "-d", "1s"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(3), ""), "{refused:?}");
    assert!(refused.err.contains("signed by nobody this driver trusts"), "{}", refused.err);
    fs::write(place.root().join("ca.pem"), authority.ca_pem()).unwrap();
    measured(&place, &url, &["--ca", "ca.pem"]);
    measured(&place, &url, &["--insecure"]);
    let both = http(&place, &[&url, "--ca", "ca.pem", "--insecure"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn a_target_that_asks_for_a_certificate_is_shown_one() {
    let place = TestFolders::without_data();
    let authority = Authority::new().unwrap();
    let site =
        Site::start(ListenOptions::v4().tls(authority.asking().unwrap()), SiteProtocols::Http1).unwrap();
    let client = authority.server().unwrap();
    for (name, text) in
        [("ca.pem", authority.ca_pem()), ("both.pem", &client.pem().concat()), ("key.pem", &client.pem()[1])]
    {
        fs::write(place.root().join(name), text).unwrap();
    }
    let url = site.url("/hello");
    measured(&place, &url, &["--ca", "ca.pem", "--cert", "both.pem"]);
    measured(&place, &url, &["--ca", "ca.pem", "--cert", "both.pem", "--key", "key.pem"]);
    let without = http(&place, &[&url, "--ca", "ca.pem", "-d", "1s", "-c", "1"]);
    assert!(matches!(without.code, Some(3 | 4 | 9)), "{without:?}");
    let wrong = http(&place, &[&url, "--ca", "ca.pem", "--cert", "both.pem", "--key", "ca.pem"]);
    let why = "use the client certificate: `ca.pem`: there is no `BEGIN PRIVATE KEY` in it";
    assert!(wrong.code == Some(2) && wrong.err.contains(why), "{wrong:?}");
}

#[test]
fn a_certificate_past_its_last_day_and_a_port_that_speaks_no_tls_say_so() {
    let place = TestFolders::without_data();
    let authority = Authority::new().unwrap();
    fs::write(place.root().join("ca.pem"), authority.ca_pem()).unwrap();
    let expired =
        Site::start(ListenOptions::v4().tls(authority.expired().unwrap()), SiteProtocols::Http1).unwrap();
    let ended = http(&place, &[&expired.url("/hello"), "--ca", "ca.pem"]);
    assert!(ended.code == Some(3) && ended.err.contains("its certificate has expired"), "{ended:?}");
    let plain = site();
    let ended = http(&place, &[&plain.url("/hello").replace("http://", "https://"), "--ca", "ca.pem"]);
    assert!(ended.code == Some(3) && ended.err.contains("is not TLS"), "{ended:?}");
}

#[test]
fn http2_sockets_of_files_and_pools_work() {
    let place = TestFolders::without_data();
    let two = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    measured(&place, &two.url("/hello"), &["--http2"]);
    let unix = Site::start(ListenOptions::unix(), SiteProtocols::Http1).unwrap();
    let path = unix.address().path().to_owned();
    measured(&place, "http://localhost/hello", &["--unix-socket", path.to_str().unwrap()]);
    let pooled = site();
    measured(&place, &pooled.url("/hello"), &["--connections", "pool:2", "--workers", "1"]);
    assert!(pooled.connections() <= 3, "two, and one to see whether it is there: {}", pooled.connections());
    let new = site();
    // Slow answers, so that there are local ports for all connections.
    let result = measured(&place, &new.url("/delay/5"), &["--connections", "new"]);
    assert!(new.connections() >= result["requests"].as_u64().unwrap());
}

#[test]
fn bodies_and_headers_are_sent() {
    let (place, site) = (TestFolders::without_data(), site());
    fs::write(place.root().join("body.json"), "{\"a\": [1, 2]}").unwrap();
    measured(&place, &site.url("/echo"), &["--json-body", "@body.json", "-H", "X-Any: thing"]);
    let wrong = http(&place, &[&site.url("/echo"), "--json-body", "{oops", "-d", "1s"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("read the body as JSON"), "{wrong:?}");
    let none = http(&place, &[&site.url("/echo"), "--data", "@none", "-d", "1s"]);
    assert!(none.code == Some(2) && none.err.contains("read the body from `none`"), "{none:?}");
}

#[test]
fn several_urls_of_several_hosts_are_taken_in_turn() {
    let (place, one, other) = (TestFolders::without_data(), site(), site());
    let few = measured(&place, &one.url("/hello"), &[&other.url("/bytes/5")]);
    let counts: Vec<u64> =
        few["operations"].as_array().unwrap().iter().map(|op| op["count"].as_u64().unwrap()).collect();
    assert!(
        counts.len() == 2 && counts[0].abs_diff(counts[1]) <= 8,
        "four users, and both edges of the window: {few}"
    );
    assert!(other.requests() >= counts[1]);
    let many: String = (0..30).map(|n| format!("{}\n", other.url(&format!("/bytes/{n}")))).collect();
    fs::write(place.root().join("urls"), many).unwrap();
    let many = measured(&place, &one.url("/hello"), &["--urls", "urls", "--order", "random"]);
    assert_eq!(many["operations"].as_array().unwrap().len(), 1, "{many}");
}

#[test]
fn a_proxy_is_measured_through_and_its_password_is_not_told() {
    let configuration = "worker_processes 1; events {} http { {temp_paths} access_log off;\n\
                         server { listen 127.0.0.1:{port}; location / { proxy_pass http://$http_host$request_uri;\n\
                         proxy_http_version 1.1; proxy_set_header connection ''; } } }";
    let Some(nginx) = services::or_skip(services::nginx(configuration, &[])) else { return };
    let (place, site) = (TestFolders::without_data(), site());
    let proxy = format!("http://me:s3cret@127.0.0.1:{}", nginx.port());
    let url = site.url("/hello").replace("127.0.0.1", "h.invalid");
    let unresolved = http(&place, &[&url, "-d", "1s"]);
    assert_eq!(unresolved.code, Some(3), "{unresolved:?}");
    let address = format!("h.invalid:{}:127.0.0.1", site.address().tcp().port());
    measured(&place, &url, &["--resolve", &address]);
    let result = measured(&place, &site.url("/hello"), &["--proxy", &proxy, "--keep-record", "kept"]);
    assert!(result["requests"].as_u64() <= Some(site.requests()), "{result}");
    for file in walk(&place.root().join("kept")) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(6).any(|word| word == b"s3cret"), "{}", file.display());
    }
}

/// All files in a folder and below it.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_the_load() {
    let place = TestFolders::without_data();
    let site = site();
    let url = site.url("/hello");
    let refused = http(&place, &[&url, "-d", "1s", "--report", "missing/page.html"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(8), ""), "{refused:?}");
    assert!(refused.err.contains("write the report `missing/page.html`"), "{}", refused.err);
    assert_eq!(site.requests(), 0);
    fs::write(place.root().join("page.html"), "kept").unwrap();
    let unreachable = http(&place, &["http://127.0.0.1:1/", "-d", "1s", "--report", "page.html"]);
    assert_eq!(unreachable.code, Some(3), "{unreachable:?}");
    assert_eq!(fs::read_to_string(place.root().join("page.html")).unwrap(), "kept");
}

#[test]
fn nginx_is_measured_with_a_report_that_opens_in_a_browser() {
    // It listens at both once it listens at one.
    let configuration = "worker_processes 1; events {} http { {temp_paths} access_log off;\n\
                         server { listen unix:{folder}/socket; listen 127.0.0.1:{port}; return 200 'hello'; } }";
    let Some(nginx) = services::or_skip(services::nginx(configuration, &[])) else { return };
    let place = TestFolders::without_data();
    let socket = nginx.folder().join("socket").display().to_string();
    let words = ["--unix-socket", &socket, "--report", "page.html", "--qos", "p99<10s"];
    let result = measured(&place, "http://localhost/", &words);
    let page = place.root().join("page.html");
    let verdict = crate::report::as_shown(result["verdict"].as_str().unwrap());
    let html = fs::read_to_string(&page).unwrap();
    assert!(verdict.iter().all(|words| html.contains(words)), "{verdict:?}");
    crate::report::opens_in_a_browser(&place, &page, &verdict);
}
