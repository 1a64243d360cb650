//! The client at the embedded server.

use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;

use barograph_imap::{Fault, Session};
use barograph_mail::{Durability, MailServer, ServerOptions};

use super::{client, on_worker};

const MAIL: &[u8] = b"Subject: A Word\r\nFrom: x@example.test\r\n\r\nline one\r\nline two\r\n";

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
            send.send(server.addresses().unwrap().imap).unwrap();
            server.serve().await;
        });
    });
    address.recv().unwrap()
}

/// The UIDs of the selected mailbox.
async fn uids(session: &mut Session) -> Vec<u32> {
    let mut uids = Vec::new();
    session.fetch("1:*", "UID", |fetched| uids.extend(fetched.uid())).await.unwrap();
    uids
}

async fn found(session: &mut Session, criteria: &str) -> Vec<u32> {
    let mut uids = Vec::new();
    session.search(criteria, |uid| uids.push(uid)).await.unwrap();
    uids
}

#[test]
fn a_mailbox_is_filled_read_changed_and_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&format!("imap://u1%40example.test:secret@{}", server(folder.path())));
    on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        session.create("Archive \"1\"").await.unwrap();
        assert!(matches!(session.create("Archive \"1\"").await, Err(Fault::Refused(_))));
        assert!(matches!(session.select("None").await, Err(Fault::Refused(_))));
        let large = [MAIL, &b"x\r\n".repeat(100_000)].concat();
        for mail in [MAIL, MAIL, &large] {
            session.append("INBOX", "\\Seen", mail).await.unwrap();
        }
        session.select("INBOX").await.unwrap();
        assert_eq!((session.mailbox().exists, session.mailbox().next_uid), (3, 4));
        let mut bodies = Vec::new();
        let items = "(FLAGS RFC822.SIZE BODY.PEEK[])";
        session.fetch("1:*", items, |fetched| bodies.push(fetched.body().unwrap().to_vec())).await.unwrap();
        assert!(bodies == [MAIL, MAIL, &large], "mail is read as it was written");
        session.store("2", "+FLAGS.SILENT (\\Flagged)").await.unwrap();
        assert_eq!(found(&mut session, "FLAGGED SUBJECT \"word\"").await, [2]);
        assert_eq!(found(&mut session, "BODY \"line two\"").await, [1, 2, 3]);
        session.copy("1", "Archive \"1\"").await.unwrap();
        session.relocate("3", "Archive \"1\"").await.unwrap();
        assert_eq!((session.mailbox().exists, session.mailbox().expunged), (2, 1));
        session.store("1:*", "+FLAGS (\\Deleted)").await.unwrap();
        session.expunge("2").await.unwrap();
        assert_eq!(uids(&mut session).await, [1]);
        assert_eq!(session.count("Archive \"1\"").await.unwrap(), 2);
        let mut names = Vec::new();
        session.list(|name| names.push(String::from_utf8_lossy(name).into_owned())).await.unwrap();
        assert_eq!(names, ["Archive \\\"1\\\"", "INBOX"], "names are quoted as they arrive");
        session.log_out().await.unwrap();
    });
}

#[test]
fn other_sessions_have_news_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&format!("imap://u1%40example.test:secret@{}", server(folder.path())));
    on_worker(async {
        let mut watching = client.connect(0).await.unwrap();
        watching.select("INBOX").await.unwrap();
        watching.begin_idle().await.unwrap();
        let mut session = client.connect(1).await.unwrap();
        session.append("INBOX", "", MAIL).await.unwrap();
        watching.wait_for_more(0).await.unwrap();
        watching.end_idle().await.unwrap();
        assert_eq!(uids(&mut watching).await, [1]);
        session.select("INBOX").await.unwrap();
        session.store("1", "+FLAGS (\\Deleted)").await.unwrap();
        session.expunge("1").await.unwrap();
        watching.noop().await.unwrap();
        assert_eq!((watching.mailbox().exists, watching.mailbox().expunged), (0, 1));
    });
}

#[test]
fn a_wrong_password_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&format!("imap://u1%40example.test:wrong@{}", server(folder.path())));
    let fault = on_worker(async { client.connect(0).await.err().unwrap() });
    assert!(matches!(&fault, Fault::Refused(_)), "{fault:?}");
}
