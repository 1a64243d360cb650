//! TLS: who is believed, which protocol is agreed on, and what is said when it fails.

use std::net::TcpListener;

use barograph_http::{Client, Fault, Options, Policy, Protocol, Target, TargetError, Tls, TlsFault, Verify};
use barograph_testkit::{Authority, Door, Identity, Site, Speaks};

use super::{failed, get, in_words, on_worker, user};

fn site(identity: Identity) -> Site {
    Site::start(Door::v4().tls(identity).offering(&["h2", "http/1.1"]), Speaks::Either).unwrap()
}

fn trusting(authority: &Authority) -> Options {
    let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
    Options { tls, ..Options::default() }
}

/// What a request to this site fails with.
fn refused(site: &Site, options: &Options) -> Fault {
    on_worker(async { failed(get(&user(&site.url("/"), options), "/hello").await) })
}

#[test]
fn a_certificate_is_believed_up_to_a_trusted_authority_only() {
    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let good = site(authority.server().unwrap());
    for options in [trusting(&other), Options::default()] {
        let fault = refused(&good, &options);
        assert!(matches!(fault, Fault::Tls { why: TlsFault::UnknownAuthority, .. }), "{fault:?}");
        assert_eq!(
            in_words(&fault),
            format!(
                "agree on TLS with {}: its certificate is signed by nobody this driver trusts: name the authority's \
                 PEM file (ca), or ask not to verify",
                good.address().tcp()
            )
        );
    }
    let expired = refused(&site(authority.expired().unwrap()), &trusting(&authority));
    assert!(matches!(expired, Fault::Tls { why: TlsFault::Expired, .. }), "{expired:?}");
    let wrong = site(authority.wrong_name().unwrap());
    let fault = refused(&wrong, &trusting(&authority));
    assert!(matches!(&fault, Fault::Tls { why: TlsFault::WrongName { .. }, .. }), "{fault:?}");
    // The right name makes it right.
    let mut options = trusting(&authority);
    options.tls.server_name = Some("other.invalid".to_owned());
    on_worker(async {
        assert_eq!(get(&user(&wrong.url("/"), &options), "/hello").await.unwrap().body(), b"hello");
    });
}

#[test]
fn nothing_is_verified_only_when_that_is_asked_for() {
    let authority = Authority::new().unwrap();
    for identity in [authority.server(), authority.expired(), authority.wrong_name()] {
        let site = site(identity.unwrap());
        let tls = Tls { verify: Verify::Nothing, ..Tls::default() };
        on_worker(async {
            let options = Options { tls, ..Options::default() };
            assert_eq!(get(&user(&site.url("/"), &options), "/hello").await.unwrap().body(), b"hello");
        });
    }
}

/// What the site saw of one request, or the fault.
fn version(offered: &[&'static str], speaks: Speaks, protocol: Protocol) -> Result<String, Fault> {
    let authority = Authority::new().unwrap();
    let door = Door::v4().tls(authority.server().unwrap()).offering(offered);
    let site = Site::start(door, speaks).unwrap();
    let options = Options { protocol, ..trusting(&authority) };
    on_worker(async {
        let connections = user(&site.url("/"), &options);
        // The second one goes the way that the first one has found.
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
    assert_eq!(version(&both, Speaks::Either, Protocol::Auto).unwrap(), "HTTP/2.0");
    assert_eq!(version(&both, Speaks::Either, Protocol::Http1).unwrap(), "HTTP/1.1");
    assert_eq!(version(&both, Speaks::Either, Protocol::Http2).unwrap(), "HTTP/2.0");
    assert_eq!(version(&["http/1.1"], Speaks::Http1, Protocol::Auto).unwrap(), "HTTP/1.1");
    assert_eq!(version(&[], Speaks::Http1, Protocol::Auto).unwrap(), "HTTP/1.1");
    for offered in [&["http/1.1"][..], &[]] {
        let fault = version(offered, Speaks::Http1, Protocol::Http2).unwrap_err();
        assert!(
            matches!(fault, Fault::Tls { why: TlsFault::Protocol { wanted: "HTTP/2" }, .. }),
            "{fault:?}"
        );
    }
}

#[test]
fn what_is_not_tls_is_said_to_be_none() {
    use std::io::{Read as _, Write as _};
    for (said, closed) in [(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], false), (b"", true)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]).unwrap();
            stream.write_all(said).unwrap();
        });
        let fault = on_worker(async { failed(get(&user(&url, &Options::default()), "/").await) });
        let expected = match closed {
            true => matches!(fault, Fault::Tls { why: TlsFault::Closed, .. }),
            false => matches!(fault, Fault::Tls { why: TlsFault::NotTls, .. }),
        };
        assert!(expected && in_words(&fault).contains("is this the right port"), "{fault:?}");
        peer.join().unwrap();
    }
}

#[test]
fn trust_that_cannot_be_read_is_refused_before_the_run() {
    let why = |pem: &str| {
        let tls = Tls { authorities: Some(pem.as_bytes().into()), ..Tls::default() };
        Target::parse("https://localhost/", &Options { tls, ..Options::default() }).unwrap_err().to_string()
    };
    assert_eq!(why(""), "read the certificates to trust: there is no `BEGIN CERTIFICATE` in the PEM text");
    let broken = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    assert!(
        why(broken).starts_with("read the certificates to trust: the PEM text is broken: "),
        "{}",
        why(broken)
    );
    let tls = Tls { server_name: Some("not a name".to_owned()), ..Tls::default() };
    let refused = Target::parse("https://localhost/", &Options { tls, ..Options::default() }).unwrap_err();
    assert!(matches!(refused, TargetError::ServerName { .. }), "{refused}");
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
