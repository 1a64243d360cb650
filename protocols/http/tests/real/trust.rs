//! TLS: the negotiated HTTP version, and the number of connections.

use barograph_http::{Client, Fault, Options, Policy, Protocol, Target, Tls};
use barograph_net as net;
use barograph_testkit::{Authority, Identity, ListenOptions, Site, SiteProtocols};

use super::{failed, get, in_words, on_worker, user};

fn site(identity: Identity) -> Site {
    Site::start(ListenOptions::v4().tls(identity).offering(&["h2", "http/1.1"]), SiteProtocols::Either)
        .unwrap()
}

fn trusting(authority: &Authority) -> Options {
    let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
    Options { tls, ..Options::default() }
}

#[test]
fn a_certificate_that_is_not_believed_is_a_fault_of_connecting() {
    let site = site(Authority::new().unwrap().server().unwrap());
    let fault = on_worker(async { failed(get(&user(&site.url("/"), &Options::default()), "/hello").await) });
    assert!(
        matches!(&fault, Fault::Connect(net::Fault::Tls { why: net::TlsFault::UnknownAuthority, .. })),
        "{fault:?}"
    );
    assert!(
        in_words(&fault).starts_with(&format!(
            "agree on TLS with {}: its certificate is signed by nobody this driver trusts",
            site.address().tcp()
        )),
        "{fault:?}"
    );
}

/// The site's view of one request, or the fault.
fn version(offered: &[&'static str], speaks: SiteProtocols, protocol: Protocol) -> Result<String, Fault> {
    let authority = Authority::new().unwrap();
    let door = ListenOptions::v4().tls(authority.server().unwrap()).offering(offered);
    let site = Site::start(door, speaks).unwrap();
    let options = Options { protocol, ..trusting(&authority) };
    on_worker(async {
        let connections = user(&site.url("/"), &options);
        // The second one uses the version found by the first one.
        get(&connections, "/echo").await?;
        let answer = get(&connections, "/echo").await?;
        assert_eq!(site.connections(), 1);
        assert_eq!(connections.counters().handshakes, 1);
        Ok(String::from_utf8(answer.header("x-version").unwrap().to_vec()).unwrap())
    })
}

#[test]
fn the_protocol_is_agreed_on_in_the_handshake() {
    let both = ["h2", "http/1.1"];
    assert_eq!(version(&both, SiteProtocols::Either, Protocol::Auto).unwrap(), "HTTP/2.0");
    assert_eq!(version(&both, SiteProtocols::Either, Protocol::Http1).unwrap(), "HTTP/1.1");
    assert_eq!(version(&both, SiteProtocols::Either, Protocol::Http2).unwrap(), "HTTP/2.0");
    assert_eq!(version(&["http/1.1"], SiteProtocols::Http1, Protocol::Auto).unwrap(), "HTTP/1.1");
    assert_eq!(version(&[], SiteProtocols::Http1, Protocol::Auto).unwrap(), "HTTP/1.1");
    for offered in [&["http/1.1"][..], &[]] {
        let fault = version(offered, SiteProtocols::Http1, Protocol::Http2).unwrap_err();
        assert!(
            matches!(
                fault,
                Fault::Connect(net::Fault::Tls { why: net::TlsFault::Protocol { offered: ["h2"] }, .. })
            ),
            "{fault:?}"
        );
    }
}

#[test]
fn workers_share_a_target_and_not_its_connections() {
    let authority = Authority::new().unwrap();
    let site = site(authority.server().unwrap());
    let resolved = Target::parse(&site.url("/"), &trusting(&authority)).unwrap().resolve().unwrap();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let resolved = resolved.clone();
            std::thread::spawn(move || {
                on_worker(async move {
                    let connections = Client::new(&resolved).user(0);
                    get(&connections, "/hello").await.unwrap().status
                })
            })
        })
        .collect();
    assert!(workers.into_iter().all(|worker| worker.join().unwrap() == 200));
    assert_eq!(site.connections(), 3);
}

#[test]
fn while_the_protocol_is_not_known_no_connection_is_made_in_vain() {
    let authority = Authority::new().unwrap();
    for (policy, expected) in [(Policy::PerUser(2), 3), (Policy::Shared(2), 2), (Policy::New, 6)] {
        let site = site(authority.server().unwrap());
        let options = Options { policy, ..trusting(&authority) };
        on_worker(async {
            let resolved = Target::parse(&site.url("/"), &options).unwrap().resolve().unwrap();
            let client = Client::new(&resolved);
            let users: Vec<_> = (0..3).map(|n| client.user(n)).collect();
            for _ in 0..2 {
                for user in &users {
                    assert_eq!(get(user, "/echo").await.unwrap().header("x-version"), Some(&b"HTTP/2.0"[..]));
                }
            }
        });
        assert_eq!(site.connections(), expected, "{policy:?}");
    }
}
