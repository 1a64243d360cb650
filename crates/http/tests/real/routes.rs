//! Addresses of a target: names, several addresses, the look before the run.

use std::net::TcpListener;
use std::time::Duration;

use barograph_http::{Client, Fault, Options, Target, TargetError};
use barograph_testkit::{Act, Answer as Told, Authority, Closed, Door, Server, Site, Speaks, always};

use super::{get, in_words, on_worker};

const WAIT: Duration = Duration::from_secs(20);

#[test]
fn a_name_that_leads_nowhere_is_said_before_the_run() {
    let target = Target::parse("http://no-such-host.invalid/", &Options::default()).unwrap();
    let why = target.resolve().unwrap_err();
    assert!(matches!(why, TargetError::Resolve { .. }));
    assert_eq!(
        why.to_string(),
        "find the host `no-such-host.invalid`: check the name, or give an address such as 127.0.0.1"
    );
}

#[test]
fn a_name_and_its_addresses() {
    let server = Server::start(always(Act::Answer(Told::new(200, "ok")))).unwrap();
    let url = format!("http://localhost:{}/a?b=c", server.addr().port());
    let target = Target::parse(&url, &Options::default()).unwrap();
    assert_eq!((target.path(), target.authority()), ("/a?b=c", &url[7..url.len() - 6]));
    let probed = target.resolve().unwrap().probe(WAIT).unwrap();
    assert_eq!(probed.protocol, "HTTP/1.1");
    // Of the addresses of the name, those remain at which somebody listens.
    let peers: Vec<String> = probed.resolved.peers().map(ToString::to_string).collect();
    assert_eq!(peers, [server.addr().to_string()]);
    on_worker(async {
        let client = Client::new(&probed.resolved);
        for user in 0..4 {
            assert_eq!(get(&client.user(user), target.path()).await.unwrap().body(), b"ok");
        }
    });
}

#[test]
fn a_look_says_what_will_be_spoken_and_what_is_wrong() {
    let authority = Authority::new().unwrap();
    let door = Door::v4().tls(authority.server().unwrap()).offering(&["h2", "http/1.1"]);
    let site = Site::start(door, Speaks::Either).unwrap();
    let tls =
        barograph_http::Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Default::default() };
    let trusting = Options { tls, ..Options::default() };
    let probe =
        |url: &str, options: &Options| Target::parse(url, options).unwrap().resolve().unwrap().probe(WAIT);
    assert_eq!(probe(&site.url("/"), &trusting).unwrap().protocol, "HTTP/2");
    let fault = probe(&site.url("/"), &Options::default()).unwrap_err();
    assert!(matches!(fault, Fault::Tls { .. }), "{fault:?}");
    let held = Closed::new().unwrap();
    let closed = held.addr();
    let fault = probe(&format!("http://{closed}/"), &Options::default()).unwrap_err();
    assert!(in_words(&fault).starts_with(&format!("connect to {closed}: Connection refused")), "{fault:?}");
}

#[test]
fn a_silent_address_is_given_up() {
    // Listens, and never begins TLS.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let resolved = Target::parse(&url, &Options::default()).unwrap().resolve().unwrap();
    let fault = resolved.probe(Duration::from_millis(50)).unwrap_err();
    assert!(
        matches!(&fault, Fault::Connect { why, .. } if why.kind() == std::io::ErrorKind::TimedOut),
        "{fault:?}"
    );
}

#[test]
fn sources_of_the_wrong_kind_are_refused() {
    let options = Options { sources: vec!["::1".parse().unwrap()], ..Options::default() };
    let why = Target::parse("http://127.0.0.1:80/", &options).unwrap().resolve().unwrap_err();
    assert_eq!(why.to_string(), "no source address is of the same kind as 127.0.0.1:80: give IPv4 addresses");
}
