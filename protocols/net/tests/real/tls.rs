//! TLS: trust, negotiated protocols, and failed handshakes.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use barograph_model::Outcome;
use barograph_model::secret::SecretFile;
use barograph_net::{
    Alpn, Dialer, Fault, Identity, Routes, SetupError, Tls, TlsConfig, TlsFault, Verify, certificates,
};
use barograph_testkit::{Authority, Identity as Peer};

use super::peer::{self, secured, serve};
use super::{echo, failed, in_words, on_worker};

fn trusting(authority: &Authority) -> Tls {
    Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() }
}

/// The protocol negotiated with a peer that has this identity and offers these protocols.
fn agreed(identity: &Peer, offers: &[&str], tls: &Tls, alpn: Alpn) -> Result<Option<Vec<u8>>, Fault> {
    let config = Arc::new(identity.config(offers).unwrap());
    // A client that does not trust it ends the connection.
    let (address, peer) = serve(1, move |stream| drop(peer::echo(secured(&config, stream))));
    let tls = TlsConfig::new(tls, "127.0.0.1", alpn).unwrap();
    let end = on_worker(async {
        let dialer = Dialer::new(&Routes::at(address));
        let mut stream = dialer.connect_tls(0, &tls).await?;
        echo(&mut stream, b"hello").await;
        assert!(stream.is_quiet());
        let counters = dialer.counters();
        assert_eq!((counters.opened, counters.handshakes, counters.closed), (1, 1, 0));
        assert_eq!((counters.bytes_in, counters.bytes_out), (5, 5));
        Ok(stream.alpn().map(<[u8]>::to_vec))
    });
    peer.join().unwrap();
    end
}

/// Reason for a failed handshake with a peer of this identity.
fn refused(identity: &Peer, tls: &Tls) -> (TlsFault, String) {
    let fault = failed(agreed(identity, &[], tls, Alpn::NONE));
    assert_eq!(fault.outcome(), Outcome::Broken);
    let text = in_words(&fault);
    match fault {
        Fault::Tls { why, .. } => (why, text),
        Fault::Connect { .. } => panic!("{text}"),
    }
}

#[test]
fn a_certificate_is_believed_up_to_a_trusted_authority_only() {
    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let good = authority.server().unwrap();
    assert_eq!(agreed(&good, &[], &trusting(&authority), Alpn::NONE).unwrap(), None);
    for tls in [trusting(&other), Tls::default()] {
        let (why, text) = refused(&good, &tls);
        assert!(matches!(why, TlsFault::UnknownAuthority), "{why:?}");
        assert!(
            text.starts_with("agree on TLS with 127.0.0.1:")
                && text.ends_with(
                    ": its certificate is signed by nobody this driver trusts: name the authority's PEM file (ca), \
                     or ask not to verify"
                ),
            "{text}"
        );
    }
    let (why, _) = refused(&authority.expired().unwrap(), &trusting(&authority));
    assert!(matches!(why, TlsFault::Expired), "{why:?}");
    let wrong = authority.wrong_name().unwrap();
    let (why, _) = refused(&wrong, &trusting(&authority));
    assert!(matches!(&why, TlsFault::WrongName { asked } if asked == "127.0.0.1"), "{why:?}");
    // The right name makes it valid.
    let named = Tls { server_name: Some("other.invalid".to_owned()), ..trusting(&authority) };
    assert!(agreed(&wrong, &[], &named, Alpn::NONE).is_ok());
}

#[test]
fn a_certificate_that_was_named_itself_is_believed() {
    let authority = Authority::new().unwrap();
    let trusting =
        |identity: &Peer| Tls { authorities: Some(identity.pem()[0].as_bytes().into()), ..Tls::default() };
    let (own, signed) =
        (Peer::self_signed(&["localhost", "127.0.0.1"], 2999).unwrap(), authority.server().unwrap());
    for good in [&own, &signed] {
        assert_eq!(agreed(good, &[], &trusting(good), Alpn::NONE).unwrap(), None);
    }
    let (why, _) = refused(&own, &trusting(&signed));
    assert!(matches!(why, TlsFault::UnknownAuthority), "{why:?}");
    let other = Peer::self_signed(&["other.invalid"], 2999).unwrap();
    let (why, _) = refused(&other, &trusting(&other));
    assert!(matches!(&why, TlsFault::WrongName { asked } if asked == "127.0.0.1"), "{why:?}");
    let old = Peer::self_signed(&["127.0.0.1"], 2001).unwrap();
    let (why, _) = refused(&old, &trusting(&old));
    assert!(matches!(why, TlsFault::Expired), "{why:?}");
}

#[test]
fn nothing_is_verified_only_when_that_is_asked_for() {
    let authority = Authority::new().unwrap();
    for identity in [authority.server(), authority.expired(), authority.wrong_name()] {
        let tls = Tls { verify: Verify::Nothing, ..Tls::default() };
        assert!(agreed(&identity.unwrap(), &[], &tls, Alpn::NONE).is_ok());
    }
}

#[test]
fn the_protocol_is_agreed_on_in_the_handshake() {
    let authority = Authority::new().unwrap();
    let (identity, tls) = (authority.server().unwrap(), trusting(&authority));
    let agreed = |offers: &[&str], alpn| agreed(&identity, offers, &tls, alpn);
    let (both, new) = (Alpn::Optional(&["new", "old"]), Alpn::Required(&["new"]));
    assert_eq!(agreed(&["new", "old"], both).unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(agreed(&["old"], both).unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(agreed(&[], both).unwrap(), None);
    assert_eq!(agreed(&["new"], Alpn::NONE).unwrap(), None);
    assert_eq!(agreed(&["new", "old"], new).unwrap().as_deref(), Some(&b"new"[..]));
    for offers in [&["old"][..], &[]] {
        let fault = failed(agreed(offers, new));
        assert!(
            matches!(fault, Fault::Tls { why: TlsFault::Protocol { offered: ["new"] }, .. }),
            "{fault:?}"
        );
        assert!(in_words(&fault).ends_with(": it does not speak new over TLS: choose another protocol"));
    }
}

#[test]
fn other_protocols_are_offered_under_the_same_trust() {
    let authority = Authority::new().unwrap();
    let config = Arc::new(authority.server().unwrap().config(&["new", "old"]).unwrap());
    let (address, peer) = serve(2, move |stream| drop(peer::echo(secured(&config, stream))));
    let old = TlsConfig::new(&trusting(&authority), "127.0.0.1", Alpn::Optional(&["old"])).unwrap();
    let new = old.clone().offering(Alpn::Optional(&["new"]));
    on_worker(async {
        let dialer = Dialer::new(&Routes::at(address));
        for (tls, name) in [(old, "old"), (new, "new")] {
            let mut stream = dialer.connect_tls(0, &tls).await.unwrap();
            assert_eq!(stream.alpn(), Some(name.as_bytes()));
            echo(&mut stream, b"hello").await;
        }
    });
    peer.join().unwrap();
}

#[test]
fn what_is_not_tls_is_told_from_a_connection_that_ends() {
    for (answer, closed) in [(&b"-ERR unknown command\r\n"[..], false), (b"", true)] {
        let (address, peer) = serve(1, move |mut stream| {
            let _ = stream.read(&mut [0; 4_096]).unwrap();
            stream.write_all(answer).unwrap();
        });
        let tls = TlsConfig::new(&Tls::default(), "127.0.0.1", Alpn::NONE).unwrap();
        let (fault, counters) = on_worker(async {
            let dialer = Dialer::new(&Routes::at(address));
            (failed(dialer.connect_tls(0, &tls).await), dialer.counters())
        });
        let expected = match closed {
            true => matches!(fault, Fault::Tls { why: TlsFault::Closed, .. }),
            false => matches!(fault, Fault::Tls { why: TlsFault::NotTls, .. }),
        };
        assert!(expected && in_words(&fault).contains("is this the right port"), "{fault:?}");
        assert_eq!((counters.opened, counters.handshakes, counters.closed), (1, 0, 1));
        peer.join().unwrap();
    }
}

#[test]
fn a_peer_that_asks_for_a_certificate_is_shown_one() {
    let authority = Authority::new().unwrap();
    let asking = authority.asking().unwrap();
    let [certificate, key] = authority.server().unwrap().pem().clone();
    let file = |text: &str| SecretFile { path: "x.pem".into(), bytes: text.as_bytes().into() };
    let identity = Identity { certificate: file(&certificate), key: file(&key) };
    let shown = Tls { identity: Some(identity), ..trusting(&authority) };
    assert_eq!(agreed(&asking, &[], &shown, Alpn::NONE).unwrap(), None);
    // A peer that requests none is served as well.
    assert_eq!(agreed(&authority.server().unwrap(), &[], &shown, Alpn::NONE).unwrap(), None);
}

#[test]
fn trust_that_cannot_be_read_is_refused_before_the_run() {
    let why = |tls: &Tls| TlsConfig::new(tls, "localhost", Alpn::NONE).unwrap_err();
    let of_pem =
        |pem: &str| why(&Tls { authorities: Some(pem.as_bytes().into()), ..Tls::default() }).to_string();
    assert_eq!(of_pem(""), "read the certificates to trust: there is no `BEGIN CERTIFICATE` in the PEM text");
    let broken = of_pem("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n");
    assert!(broken.starts_with("read the certificates to trust: the PEM text is broken: "), "{broken}");
    let refused = why(&Tls { server_name: Some("not a name".to_owned()), ..Tls::default() });
    assert!(matches!(refused, SetupError::ServerName { .. }), "{refused}");
}

#[test]
fn a_file_of_certificates_is_read_up_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let why = || certificates(&file).unwrap_err().to_string();
    assert_eq!(why(), format!("read the certificates in `{}`", file.display()));
    std::fs::write(&file, "a certificate").unwrap();
    assert_eq!(*certificates(&file).unwrap(), *b"a certificate");
    std::fs::File::create(&file).unwrap().set_len((4 << 20) + 1).unwrap();
    assert!(why().ends_with(": 4194305 bytes, at most 4194304 are allowed"), "{}", why());
}
