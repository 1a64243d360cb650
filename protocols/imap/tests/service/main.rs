//! The client at Dovecot, and at maddy.

use barograph_imap::{Address, Client, Fault, SCHEME, Session, Target};
use barograph_test_services::{Service, or_skip, product};

const MAIL: &[u8] = b"Subject: A Word\r\nFrom: x@example.test\r\n\r\nline one\r\nline two\r\n";

fn client(server: &Service, password: &str) -> Client {
    let url = format!("imap://u1%40example.test:{password}@127.0.0.1:{}", server.named_port("imap"));
    Client::new(&Target::resolve(Address::parse(&url, SCHEME).unwrap()).unwrap())
}

/// Runs `work` on a loop like a worker's.
fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}

async fn uids(session: &mut Session) -> Vec<u32> {
    let mut uids = Vec::new();
    session.fetch("1:*", "UID", |fetched| uids.extend(fetched.uid())).await.unwrap();
    uids
}

#[test]
fn every_command_works_at_dovecot() {
    every_command_works_at("dovecot", &[1]);
}

#[test]
fn every_command_works_at_maddy_which_has_no_uidplus() {
    every_command_works_at("maddy", &[]);
}

/// Runs all commands; `left` are the messages after two are marked as deleted and one is expunged.
fn every_command_works_at(name: &str, left: &[u32]) {
    let Some(server) = or_skip(product(name, &[])) else { return };
    let client = client(&server, "barograph");
    on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        session.create("Archive \"1\"").await.unwrap();
        let large = [MAIL, &b"x\r\n".repeat(500_000)].concat();
        for mail in [MAIL, MAIL, &large] {
            session.append("INBOX", "\\Seen", mail).await.unwrap();
        }
        session.select("INBOX").await.unwrap();
        assert_eq!((session.mailbox().exists, session.mailbox().next_uid), (3, 4));
        assert!(session.mailbox().validity > 0);
        let mut bodies = Vec::new();
        let items = "(FLAGS RFC822.SIZE BODY.PEEK[])";
        session.fetch("1:*", items, |fetched| bodies.push(fetched.body().unwrap().to_vec())).await.unwrap();
        assert!(bodies == [MAIL, MAIL, &large], "mail is read as it was written");
        let mut part = Vec::new();
        session
            .fetch("2", "BODY.PEEK[]<9.4>", |fetched| part.extend_from_slice(fetched.body().unwrap()))
            .await
            .unwrap();
        assert_eq!(part, b"A Wo");
        session.store("2", "+FLAGS.SILENT (\\Flagged)").await.unwrap();
        let mut found = Vec::new();
        session.search("FLAGGED SUBJECT \"word\"", |uid| found.push(uid)).await.unwrap();
        assert_eq!(found, [2]);
        session.copy("1", "Archive \"1\"").await.unwrap();
        session.relocate("3", "Archive \"1\"").await.unwrap();
        session.store("1:*", "+FLAGS (\\Deleted)").await.unwrap();
        session.expunge("2").await.unwrap();
        assert_eq!(uids(&mut session).await, left);
        assert_eq!(session.count("Archive \"1\"").await.unwrap(), 2);
        let mut folders = 0;
        session.list(|_| folders += 1).await.unwrap();
        assert_eq!(folders, 2);
        assert!(matches!(session.select("None").await, Err(Fault::Refused(_))));
        session.noop().await.unwrap();
        session.log_out().await.unwrap();
    });
}

#[test]
fn news_arrive_in_idle_at_dovecot() {
    news_arrive_in_idle_at("dovecot");
}

#[test]
fn news_arrive_in_idle_at_maddy() {
    news_arrive_in_idle_at("maddy");
}

fn news_arrive_in_idle_at(name: &str) {
    let Some(server) = or_skip(product(name, &[])) else { return };
    let client = client(&server, "barograph");
    on_worker(async {
        let mut watching = client.connect(0).await.unwrap();
        watching.select("INBOX").await.unwrap();
        watching.begin_idle().await.unwrap();
        let mut session = client.connect(1).await.unwrap();
        session.append("INBOX", "", MAIL).await.unwrap();
        watching.wait_for_more(0).await.unwrap();
        watching.end_idle().await.unwrap();
        assert_eq!(uids(&mut watching).await, [1]);
    });
}

#[test]
fn a_wrong_password_is_refused_by_dovecot() {
    a_wrong_password_is_refused_by("dovecot");
}

#[test]
fn a_wrong_password_is_refused_by_maddy() {
    a_wrong_password_is_refused_by("maddy");
}

fn a_wrong_password_is_refused_by(name: &str) {
    let Some(server) = or_skip(product(name, &[])) else { return };
    let fault = on_worker(async { client(&server, "wrong").connect(0).await.err().unwrap() });
    assert!(matches!(&fault, Fault::Refused(_)), "{fault:?}");
}
