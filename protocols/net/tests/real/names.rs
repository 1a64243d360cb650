//! Names, their addresses, and the probe before the load.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use barograph_net::{Alpn, Endpoint, Routes, SetupError, Tls, TlsConfig};
use barograph_testkit::{Authority, ClosedPort};

use super::peer::{secured, serve};

const WAIT: Duration = Duration::from_secs(20);

fn endpoint(host: &str, port: u16) -> Endpoint {
    Endpoint::Host { host: host.to_owned(), port }
}

/// The fault of the target at this address.
fn wrong(address: SocketAddr, tls: Option<&TlsConfig>, wait: Duration) -> String {
    Routes::at(address).answering(tls, wait).unwrap_err().to_string()
}

#[test]
fn a_name_that_leads_nowhere_is_known_before_the_run() {
    let why = endpoint("no-such-host.invalid", 80).resolve(&[]).unwrap_err();
    assert!(matches!(why, SetupError::Resolve { .. }));
    assert_eq!(
        why.to_string(),
        "find the host `no-such-host.invalid`: check the name, or give an address such as 127.0.0.1"
    );
}

#[test]
fn sources_of_the_wrong_kind_are_refused() {
    let why = endpoint("127.0.0.1", 80).resolve(&["::1".parse().unwrap()]).unwrap_err();
    assert_eq!(why.to_string(), "no source address is of the same kind as 127.0.0.1:80: give IPv4 addresses");
}

#[test]
fn of_the_addresses_of_a_name_those_remain_that_answer() {
    let (address, peer) = serve(1, drop);
    let routes = endpoint("localhost", address.port()).resolve(&[]).unwrap().answering(None, WAIT).unwrap();
    let peers: Vec<String> = routes.peers().map(ToString::to_string).collect();
    assert_eq!(peers, [address.to_string()]);
    peer.join().unwrap();
}

#[test]
fn a_look_tells_what_is_wrong() {
    let held = ClosedPort::new().unwrap();
    let closed = held.addr();
    let text = wrong(closed, None, WAIT);
    let refused = format!("connect to {closed}: Connection refused");
    assert!(
        text.starts_with(&refused) && text.ends_with("; is it started, and is this its address?"),
        "{text}"
    );

    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let config = std::sync::Arc::new(authority.server().unwrap().config(&[]).unwrap());
    let (address, peer) = serve(2, move |stream| {
        let _ = super::peer::echo(secured(&config, stream));
    });
    let tls = |authority: &Authority| {
        let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
        TlsConfig::new(&tls, "127.0.0.1", Alpn::NONE).unwrap()
    };
    let text = wrong(address, Some(&tls(&other)), WAIT);
    assert_eq!(text, format!("agree on TLS with {address}"));
    assert!(Routes::at(address).answering(Some(&tls(&authority)), WAIT).is_ok());
    peer.join().unwrap();
}

#[test]
fn a_silent_address_is_given_up() {
    // Listens, and never begins TLS.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let tls = TlsConfig::new(&Tls::default(), "127.0.0.1", Alpn::NONE).unwrap();
    assert_eq!(
        wrong(address, Some(&tls), Duration::from_millis(50)),
        format!("no TLS session with {address} within 0.05 s; is this the right port?")
    );
}
