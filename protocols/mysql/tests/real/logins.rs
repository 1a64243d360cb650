//! Logins at servers that ask for one plugin after the other.

use std::io::Write as _;

use barograph_mysql::{Fault, Flaw, LoginError};
use barograph_testkit::Authority;
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

use super::messages::{NONCE, error, greeting_with, ok, packet};
use super::on_worker;
use super::peer::{Peer, message};

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// Capability of TLS.
const TLS: u32 = 0x800;

/// A request for another plugin.
fn switch(number: u8, plugin: &str) -> Vec<u8> {
    packet(number, &[b"\xfe", plugin.as_bytes(), b"\0", &NONCE, b"\0"].concat())
}

/// What a login is answered with, and its end.
fn told(plugin: &str, answers: &[Vec<u8>]) -> Result<String, Fault> {
    let peer = Peer::start([&[greeting_with(plugin, 0)], answers].concat());
    let end = on_worker(async {
        let session = peer.client_with_password("").connect(0).await?;
        Ok(format!("{} {}", session.version(), session.id()))
    });
    peer.join();
    end
}

#[test]
fn a_login_is_taken_at_once_or_after_other_steps() {
    let good = |plugin, answers: &[Vec<u8>]| told(plugin, answers).unwrap();
    assert_eq!(good(NATIVE, &[packet(2, &ok(0))]), "10.11.0-MariaDB 7");
    good(SHA2, &[[packet(2, b"\x01\x03"), packet(3, &ok(0))].concat()]);
    good(SHA2, &[switch(2, NATIVE), packet(4, &ok(0))]);
    good(NATIVE, &[switch(2, SHA2), [packet(4, b"\x01\x03"), packet(5, &ok(0))].concat()]);
    // A plugin that is not spoken is the server's first choice, not its last word.
    good("client_ed25519", &[switch(2, NATIVE), packet(4, &ok(0))]);
}

#[test]
fn failed_logins_have_names() {
    let fault = |plugin, answers: &[Vec<u8>]| told(plugin, answers).unwrap_err();
    assert!(matches!(fault(NATIVE, &[]), Fault::Broken(_)));
    assert!(matches!(fault(NATIVE, &[packet(2, &error(1045, "28000"))]), Fault::Refused(_)));
    assert!(matches!(fault(NATIVE, &[packet(2, &error(1053, "08S01"))]), Fault::Refused(_)));
    assert!(matches!(fault(NATIVE, &[packet(2, b"\x05")]), Fault::Flawed(Flaw::Order { first: 5, .. })));
    assert!(matches!(fault(NATIVE, &[packet(3, &ok(0))]), Fault::Flawed(Flaw::Number { .. })));
    let twice = [switch(2, NATIVE), switch(4, SHA2)];
    assert!(matches!(fault(NATIVE, &twice), Fault::Login(LoginError::Step)));
    assert!(matches!(fault(NATIVE, &[switch(2, "dialog")]), Fault::Login(LoginError::Plugin(_))));
    let key = [packet(2, b"\x01\x04"), packet(4, b"\x01no key")];
    assert!(matches!(fault(SHA2, &key), Fault::Login(LoginError::Key)));
}

#[test]
fn a_password_goes_through_tls_and_not_before() {
    let identity = Authority::new().unwrap().server().unwrap();
    let config = std::sync::Arc::new(identity.config(&[]).unwrap());
    let peer = Peer::doing(move |mut stream| {
        stream.write_all(&greeting_with(SHA2, TLS)).unwrap();
        let head = message(&mut stream).unwrap();
        assert_eq!(head.len(), 32, "the request for TLS names no user");
        let mut secured = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let login = message(&mut secured).unwrap();
        assert_eq!(login[..32], head[..]);
        assert!(login[32..].starts_with(b"me\0"));
        secured.write_all(&packet(3, b"\x01\x04")).unwrap();
        assert_eq!(message(&mut secured).unwrap(), b"pw\0");
        secured.write_all(&packet(5, &ok(0))).unwrap();
        // Amid the next answer the connection just ends.
        assert_eq!(message(&mut secured).unwrap(), b"\x03SELECT 1");
        secured.write_all(&packet(1, b"\x01")[..4]).unwrap();
        secured.flush().unwrap();
        secured.sock.shutdown(std::net::Shutdown::Write).unwrap();
    });
    on_worker(async {
        let mut session = peer.client_with_password("ssl-mode=required").connect(0).await.unwrap();
        let fault = session.query("SELECT 1").unwrap().finish().await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        assert!(!session.is_usable());
    });
    peer.join();
}

#[test]
fn bytes_before_the_handshake_of_tls_are_not_those_of_the_server() {
    let early = [greeting_with(SHA2, TLS), packet(2, &ok(0))].concat();
    let peer = Peer::start(vec![early]);
    let fault = on_worker(async { peer.client("ssl-mode=required").connect(0).await.err().unwrap() });
    assert!(matches!(fault, Fault::Flawed(Flaw::Unprotected)), "{fault:?}");
    peer.join();
    let peer = Peer::start(vec![greeting_with(SHA2, TLS), Vec::new()]);
    let fault = on_worker(async { peer.client("ssl-mode=required").connect(0).await.err().unwrap() });
    assert!(matches!(fault, Fault::Connect(barograph_net::Fault::Tls { .. })), "{fault:?}");
    peer.join();
}
