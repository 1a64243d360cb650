//! The client at the embedded server.

use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;

use barograph_mail::{Durability, MailServer, ServerOptions};
use barograph_smtp::{Dialect, Envelope, Fault};

use super::{client, on_worker};

/// The address of an embedded server on a thread of its own, which ends with the test's process.
fn server(folder: &std::path::Path) -> SocketAddr {
    let (send, address) = sync_channel(1);
    let any = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions {
        smtp: any,
        imap: any,
        folder: folder.to_owned(),
        durability: Durability::System,
        domain: "example.test".to_owned(),
        password: "secret".to_owned(),
        max_connections: 100,
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let server = MailServer::bind(&options).await.unwrap();
            send.send(server.addresses().unwrap().smtp).unwrap();
            server.serve().await;
        });
    });
    address.recv().unwrap()
}

#[test]
fn mail_is_taken_in_both_dialects() {
    let folder = tempfile::tempdir().unwrap();
    let at = server(folder.path());
    for dialect in [Dialect::Smtp, Dialect::Lmtp] {
        let client = client(&format!("smtp://u1%40example.test:secret@{at}"), dialect);
        on_worker(async {
            let mut session = client.connect(0).await.unwrap();
            assert!(session.extensions().pipelining && session.extensions().chunking);
            let to = ["u1@example.test", "u2@other.test", "u3@example.test"];
            for _ in 0..3 {
                let envelope = Envelope { from: "u1@example.test", to: &to };
                let receipt = session.submit(&envelope, b"Subject: x\r\n\r\n.\r\n").await.unwrap();
                assert_eq!(receipt.taken, [true, false, true]);
                assert_eq!(receipt.refusal.as_deref(), Some("550 no such mailbox"));
            }
            let unknown = Envelope { from: "u1@example.test", to: &["u2@other.test"] };
            assert!(matches!(session.submit(&unknown, b"x\r\n").await, Err(Fault::Refused(_))));
            session.noop().await.unwrap();
            session.quit().await.unwrap();
        });
    }
}

#[test]
fn a_wrong_password_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&format!("smtp://u1%40example.test:wrong@{}", server(folder.path())), Dialect::Smtp);
    let fault = on_worker(async { client.connect(0).await.err().unwrap() });
    assert!(matches!(&fault, Fault::Refused(why) if why.starts_with("535")), "{fault:?}");
}
