//! Loads and the check after them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use barograph_test_services::{Service, or_skip, product};

use super::rig::{Load, RunResult, embedded};
use crate::measures::{FETCHED, SENT, TAKEN, VISIBLE};
use crate::operation::Operation;

/// Whether every operation was done at least twice.
fn has_all(ended: &RunResult) -> bool {
    Operation::ALL.iter().all(|operation| ended.good(*operation) >= 2)
}

/// Fills, loads and checks a server twice; of excused operations some may fail. Returns the first load.
fn carried(url: &str, delivery_s: u32, excused: &[Operation]) -> Load {
    let load = Load::at(url, delivery_s);
    load.answers().unwrap();
    assert_eq!(load.fill(), 600);
    let ended = load.until(has_all);
    ended.all_good_but(excused);
    assert!(ended.counter(TAKEN) >= 4 * ended.good(Operation::Submit));
    assert_eq!(ended.counter(VISIBLE), ended.good(Operation::Delivery));
    let verified = load.verify();
    assert!(verified.ok, "{:?}", verified.findings);
    // A second load begins with the mail that the first one has left.
    let again = Load::at(url, delivery_s);
    assert!(again.fill() > 600);
    again.until(has_all).all_good_but(excused);
    let verified = again.verify();
    assert!(verified.ok, "{:?}", verified.findings);
    load
}

#[test]
fn the_embedded_server_carries_every_operation_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = carried(&embedded(folder.path()), 0, &[]);
    assert!(!first.verify().ok, "the first load knows nothing of the second");
}

#[test]
fn dovecot_carries_every_operation_and_loses_nothing() {
    let Some(server) = or_skip(product("dovecot", &[])) else { return };
    carried(&format!("lmtp://127.0.0.1:{},127.0.0.1:{}", server.port(), server.named_port("imap")), 0, &[]);
}

#[test]
fn postfix_before_dovecot_carries_every_operation_and_loses_nothing() {
    let Some(store) = or_skip(product("dovecot", &[])) else { return };
    let address = format!("127.0.0.1:{}", store.port());
    let Some(agent) = or_skip(product("postfix", &[("store", &address)])) else { return };
    carried(&format!("smtp://127.0.0.1:{},127.0.0.1:{}", agent.port(), store.named_port("imap")), 60, &[]);
}

#[test]
fn maddy_carries_every_operation_and_loses_nothing() {
    let Some(server) = or_skip(product("maddy", &[])) else { return };
    // It does not announce mail that arrives just before IDLE, so that an own mail may be seen too late.
    carried(&at_maddy(&server), 0, &[Operation::Delivery]);
}

fn at_maddy(server: &Service) -> String {
    format!("smtp://127.0.0.1:{},127.0.0.1:{}", server.port(), server.named_port("imap"))
}

#[test]
fn users_submit_one_mail_after_another_over_new_and_over_kept_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let both = embedded(folder.path());
    for keeps_session in [false, true] {
        let load = Load::submitting(&both, keeps_session);
        load.answers().unwrap();
        let before = load.fill();
        let ended = load.until(|ended| ended.good(Operation::Submit) >= 200);
        assert_eq!(ended.done(), [Operation::Submit]);
        assert_eq!(ended.counter(TAKEN), 4 * ended.good(Operation::Submit));
        assert!(
            ended.counter(SENT).abs_diff(2_000 * ended.good(Operation::Submit))
                < 200 * ended.good(Operation::Submit)
        );
        let verified = load.verify();
        assert!(verified.ok, "{:?}", verified.findings);
        assert_eq!(load.fill(), before + ended.counter(TAKEN), "every mail is in its mailboxes");
    }
    let (smtp, _) = both.split_once(',').unwrap();
    let load = Load::submitting(&smtp.replace("mail://", "smtp://"), true);
    load.answers().unwrap();
    assert_eq!(load.reads_mail(), (false, false), "there is no address for it");
    let ended = load.until(|ended| ended.good(Operation::Submit) >= 50);
    assert_eq!(ended.done(), [Operation::Submit]);
}

#[test]
fn users_read_one_mail_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let load = Load::reading(&embedded(folder.path()));
    let filled = load.fill();
    let ended = load.until(|ended| ended.good(Operation::Body) >= 200);
    assert_eq!(ended.done(), [Operation::Open, Operation::Body]);
    assert_eq!(ended.good(Operation::Open), 10, "a user opens its mailbox once");
    assert!(
        ended.counter(FETCHED).abs_diff(2_000 * ended.good(Operation::Body))
            < 200 * ended.good(Operation::Body)
    );
    let verified = load.verify();
    assert!(verified.ok, "{:?}", verified.findings);
    assert_eq!(load.fill(), filled);
}

/// Sends lines of IMAP, and reads to the end of the last one.
fn imap(url: &str, lines: &[&str]) -> String {
    let mut stream = TcpStream::connect(url.rsplit_once(',').unwrap().1).unwrap();
    let mut answer = String::new();
    stream.write_all(format!("{}\r\nz LOGOUT\r\n", lines.join("\r\n")).as_bytes()).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn lost_doubled_and_altered_mail_is_found() {
    let folder = tempfile::tempdir().unwrap();
    faults_are_found_at(&embedded(folder.path()));
}

#[test]
fn lost_doubled_and_altered_mail_is_found_at_maddy() {
    let Some(server) = or_skip(product("maddy", &[])) else { return };
    faults_are_found_at(&at_maddy(&server));
}

/// Doubles, alters and removes mail by hand, and checks it.
fn faults_are_found_at(url: &str) {
    let load = Load::at(url, 0);
    load.fill();
    assert!(load.verify().ok);
    let login = "a LOGIN u3@barograph.test barograph";
    let select = "b SELECT INBOX";
    imap(url, &[login, select, "c COPY 1 Archive"]);
    let text = load.verify().findings.join("\n");
    assert!(
        text.starts_with("1 mail is there more often than delivered, as 8000000300000000 of mailbox 3"),
        "{text}"
    );
    let shown = imap(url, &[login, select, "c FETCH 2 BODY.PEEK[HEADER.FIELDS (X-BAROGRAPH)]"]);
    let field = shown.lines().find(|line| line.starts_with("X-Barograph")).unwrap();
    let altered = format!("{field}\r\n\r\nanother content\r\n");
    let append = format!("d APPEND INBOX {{{}+}}\r\n{altered}", altered.len());
    imap(url, &[login, select, "c STORE 1:2 +FLAGS (\\Deleted)", "d EXPUNGE", &append]);
    let findings = load.verify().findings;
    assert_eq!(findings, ["1 mail is altered, as 8000000300000001 of mailbox 3"]);
    imap(url, &[login, "b SELECT Archive", "c STORE 1:* +FLAGS (\\Deleted)", "d EXPUNGE"]);
    let text = load.verify().findings.join("\n");
    assert!(text.contains(" mails are lost, as 8000000300000000 of mailbox 3"), "{text}");
}

#[test]
fn a_mailbox_that_is_filled_in_part_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let url = embedded(folder.path());
    let login = "a LOGIN u3@barograph.test barograph";
    imap(&url, &[login, "b CREATE Archive", "c APPEND Archive {3+}\r\nabc"]);
    assert_eq!(Load::at(&url, 0).fill(), 599, "one of 30 was there, and is not of the workload");
}

#[test]
fn a_wrong_address_or_password_is_refused_before_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let both = embedded(folder.path());
    let (smtp, imap) = both.strip_prefix("mail://").unwrap().split_once(',').unwrap();
    let at = |smtp: &str, imap: &str| Load::reading(&format!("smtp://{smtp},imap://{imap}")).refusal();
    let why = at(imap, imap);
    assert!(why.contains(&format!("smtp://{imap}: the server speaks IMAP and not SMTP: `* OK ")), "{why}");
    assert!(why.ends_with("`; correct the address"), "{why}");
    let why = at(smtp, smtp);
    assert!(why.contains("log in as u0@barograph.test: the server speaks SMTP and not IMAP: `220 "), "{why}");
    let why = Load::submitting(&format!("smtp://{imap}"), false).refusal();
    assert!(why.contains("speaks IMAP and not SMTP"), "{why}");
    let why = Load::of(&both, "read", "password = \"wrong\"\n").refusal();
    assert!(
        why.contains("the server refuses: ") && why.contains("mail.password (--user, --password)"),
        "{why}"
    );
}
