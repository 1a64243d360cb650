//! The client at Dovecot, which takes mail by LMTP.

use barograph_smtp::{Address, Client, Dialect, Envelope, Fault, SCHEME, Target};
use barograph_test_services::{or_skip, product};

#[test]
fn dovecot_takes_mail_for_each_recipient() {
    let Some(server) = or_skip(product("dovecot", &[])) else { return };
    let url = format!("smtp://127.0.0.1:{}", server.port());
    let client = Client::new(&Target::resolve(Address::parse(&url, SCHEME).unwrap()).unwrap(), Dialect::Lmtp);
    let work = async {
        let mut session = client.connect(0).await.unwrap();
        assert!(session.extensions().pipelining && session.extensions().chunking);
        let to = ["u1@example.test", "u2@example.test", "u3@example.test"];
        for mail in [&b"Subject: x\r\n\r\n.\r\n"[..], &[b"\r\n", &b"y\r\n".repeat(200_000)[..]].concat()] {
            let envelope = Envelope { from: "u1@example.test", to: &to };
            let receipt = session.submit(&envelope, mail).await.unwrap();
            assert_eq!(receipt.taken, [true; 3]);
        }
        let invalid = Envelope { from: "u1@example.test", to: &["no address at all"] };
        assert!(matches!(session.submit(&invalid, b"x\r\n").await, Err(Fault::Refused(_))));
        session.noop().await.unwrap();
        session.quit().await.unwrap();
    };
    barograph_reactor::block_on(work).unwrap();
}
