//! Addresses of a target: names, several addresses, the look before the run.

use std::time::Duration;

use barograph_http::{Client, Options, Protocol, Target, TargetError, Tls};
use barograph_testkit::{Act, Answer as Told, Authority, ListenOptions, Server, Site, SiteProtocols, always};

use super::{get, on_worker};

const WAIT: Duration = Duration::from_secs(20);

#[test]
fn a_name_that_leads_nowhere_is_said_before_the_run() {
    let target = Target::parse("http://no-such-host.invalid/", &Options::default()).unwrap();
    let why = target.resolve().unwrap_err();
    assert!(matches!(why, TargetError::Setup(_)));
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
    let resolved = target.resolve().unwrap().answering(WAIT).unwrap();
    // Of the addresses of the name, those with a listener remain.
    let peers: Vec<String> = resolved.routes().peers().map(ToString::to_string).collect();
    assert_eq!(peers, [server.addr().to_string()]);
    on_worker(async {
        let client = Client::new(&resolved);
        for user in 0..4 {
            assert_eq!(get(&client.user(user), target.path()).await.unwrap().body(), b"ok");
        }
    });
}

#[test]
fn a_look_is_through_tls_and_asks_for_the_protocol() {
    let authority = Authority::new().unwrap();
    let door = ListenOptions::v4().tls(authority.server().unwrap()).offering(&["http/1.1"]);
    let site = Site::start(door, SiteProtocols::Http1).unwrap();
    let look = |authorities: Option<&str>, protocol| {
        let tls = Tls { authorities: authorities.map(|pem| pem.as_bytes().into()), ..Tls::default() };
        let target = Target::parse(&site.url("/"), &Options { tls, protocol, ..Options::default() }).unwrap();
        target.resolve().unwrap().answering(WAIT)
    };
    let trusted = Some(authority.ca_pem());
    assert!(look(trusted, Protocol::Auto).is_ok());
    for wrong in [look(None, Protocol::Auto), look(trusted, Protocol::Http2)] {
        assert_eq!(wrong.unwrap_err().to_string(), format!("agree on TLS with {}", site.address().tcp()));
    }
}
