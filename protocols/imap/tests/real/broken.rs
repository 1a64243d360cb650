//! Answers that break the protocol: each ends as a fault with a name.

use std::sync::Arc;

use barograph_imap::{Fault, Flaw, Session};
use barograph_testkit::{Authority, Peer, follow, step};
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

use super::{client, on_worker};

const GREETING: &str = "* OK test\r\n";
const LOGIN: &str = "a1 OK [CAPABILITY IMAP4rev1 IDLE MOVE UIDPLUS] in\r\n";
const SELECT: &str = "* 3 EXISTS\r\n* OK [UIDVALIDITY 5] x\r\n* OK [UIDNEXT 9] x\r\na2 OK in\r\n";

/// Begins a session with INBOX selected, and does `each` with it at a peer with this script.
fn session<T>(script: &[(&'static str, &str)], each: impl AsyncFnOnce(&mut Session) -> T) -> T {
    let mut steps = vec![step("", GREETING), step("LOGIN", LOGIN), step("SELECT", SELECT)];
    steps.extend(script.iter().map(|(wanted, answer)| step(wanted, answer)));
    let peer = Peer::start(steps);
    let client = client(&format!("imap://u:p@{}", peer.host));
    let end = on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        session.select("INBOX").await.unwrap();
        each(&mut session).await
    });
    drop(client);
    peer.join();
    end
}

/// The end of a fetch with this answer, and the bodies that it returned.
fn fetched(answer: &str) -> (Result<(), Fault>, Vec<Vec<u8>>) {
    session(&[("FETCH", answer)], async |session| {
        let mut bodies = Vec::new();
        let end = session
            .fetch("1:*", "BODY.PEEK[]", |fetched| {
                bodies.extend(fetched.body().map(<[u8]>::to_vec));
            })
            .await;
        if !matches!(end, Ok(()) | Err(Fault::Refused(_))) {
            assert!(matches!(session.noop().await, Err(Fault::Unusable)), "{end:?}");
        }
        (end, bodies)
    })
}

fn flaw(answer: &str) -> Flaw {
    match fetched(answer).0 {
        Err(Fault::Flawed(flaw)) => flaw,
        other => panic!("{other:?} to {answer}"),
    }
}

#[test]
fn a_good_answer_is_good_with_any_data_between() {
    let answer = "* 4 EXISTS\r\n* 1 FETCH (UID 7 BODY[] {4}\r\na)\r\n)\r\n* OK still here\r\n* 2 EXPUNGE\r\n\
                  * 9 RECENT\r\n* VENDOR {1}\r\nx data\r\n* 3 FETCH (FLAGS (\\Seen))\r\na3 OK done\r\n";
    let (end, bodies) = fetched(answer);
    end.unwrap();
    assert_eq!(bodies, [b"a)\r\n"]);
    let mailbox =
        session(&[("NOOP", "* 1 EXPUNGE\r\n* 1 EXPUNGE\r\n* 5 EXISTS\r\na3 OK x\r\n")], async |session| {
            session.noop().await.unwrap();
            *session.mailbox()
        });
    assert_eq!((mailbox.exists, mailbox.expunged, mailbox.validity, mailbox.next_uid), (5, 2, 5, 9));
}

#[test]
fn broken_answers_are_flaws() {
    for (answer, expected) in [
        ("* 1 FETCH (UID 1)\n", Flaw::BareLineFeed),
        ("* 1 FETCH (BODY[] {x}\r\n", Flaw::Literal),
        ("* 1 FETCH (BODY[] {-3}\r\n", Flaw::Literal),
        ("* 1 FETCH (BODY[] {99999999}\r\n", Flaw::Literal),
        ("* 1 FETCH (BODY[] {2}\r\nabc)\r\na3 OK x\r\n", Flaw::Value),
        ("* 1 FETCH (BODY[] {3}\r\nab)\r\na3 OK x\r\n", Flaw::List),
        ("* 1 FETCH (UID 1\r\n", Flaw::List),
        ("* 1 FETCH (UID)\r\n", Flaw::Value),
        ("* 1 FETCH (UID 1) 2\r\n", Flaw::Excess),
        ("* 1 FETCH (X \"open)\r\n", Flaw::Quote),
        ("* 1 FETCH (BODY[ {1}\r\nx)\r\n", Flaw::Value),
        ("* 4 FETCH (UID 1)\r\n", Flaw::Sequence(4)),
        ("* 0 FETCH (UID 1)\r\n", Flaw::Sequence(0)),
        ("* 4 EXPUNGE\r\n", Flaw::Sequence(4)),
        ("* 2 EXISTS\r\n", Flaw::Shrunk { before: 3, now: 2 }),
        ("* 99999999999 EXISTS\r\n", Flaw::Number),
        ("* OK [UIDVALIDITY 6] other\r\n", Flaw::Validity),
        ("* SEARCH 1 two\r\n", Flaw::Number),
        ("a2 OK late\r\n", Flaw::Tag),
        ("b3 OK other\r\n", Flaw::Tag),
        ("a3 FINE x\r\n", Flaw::Status),
        ("+ go on\r\n", Flaw::Continuation),
        ("250 ok\r\n", Flaw::Tag),
        ("?!\r\n", Flaw::Begin),
        ("\r\n", Flaw::Begin),
        ("* \r\n", Flaw::Value),
    ] {
        assert_eq!(flaw(answer), expected, "{answer}");
    }
    let deep = format!("* 1 FETCH (X {}{})\r\n", "(".repeat(30), ")".repeat(30));
    assert_eq!(flaw(&deep), Flaw::Nesting);
    assert_eq!(flaw(&"x".repeat(1 << 20)), Flaw::LongLine);
}

#[test]
fn an_answer_that_ends_early_is_a_broken_connection() {
    let whole = "* 1 FETCH (UID 7 BODY[] {4}\r\na)\r\n)\r\na3 OK done\r\n";
    for end in 0..whole.len() {
        let (fault, _) = fetched(&whole[..end]);
        assert!(matches!(fault, Err(Fault::Broken(_))), "{end}: {fault:?}");
    }
}

#[test]
fn a_farewell_is_the_end_of_the_session() {
    let (fault, _) = fetched("* BYE shutting down\r\n");
    assert!(matches!(&fault, Err(Fault::Ended(why)) if why == "shutting down"), "{fault:?}");
}

#[test]
fn refusals_leave_the_session_usable() {
    let script = [("FETCH", "a3 NO not now\r\n"), ("MOVE", "a4 BAD what\r\n"), ("NOOP", "a5 OK x\r\n")];
    session(&script, async |session| {
        let fault = session.fetch("1", "UID", |_| {}).await.unwrap_err();
        assert!(matches!(&fault, Fault::Refused(why) if why == "not now"), "{fault:?}");
        assert!(matches!(session.relocate("1", "x").await, Err(Fault::Refused(_))));
        assert!(matches!(session.fetch("1\r\na9 LOGOUT", "UID", |_| {}).await, Err(Fault::Argument)));
        session.noop().await.unwrap();
    });
}

#[test]
fn a_literal_waits_for_permission() {
    let good = [("{3}\r\n", "* 4 EXISTS\r\n+ go on\r\n"), ("abc\r\n", "a3 OK x\r\n")];
    session(&good, async |session| session.append("Sent", "\\Seen", b"abc").await.unwrap());
    let refused = [("{3}\r\n", "a3 NO [TRYCREATE] none\r\n"), ("NOOP", "a4 OK x\r\n")];
    session(&refused, async |session| {
        assert!(matches!(session.append("Sent", "", b"abc").await, Err(Fault::Refused(_))));
        session.noop().await.unwrap();
    });
}

#[test]
fn news_arrive_in_idle() {
    let script = [
        ("IDLE\r\n", "+ idling\r\n* OK still here\r\n* 4 EXISTS\r\n"),
        ("DONE\r\n", "* 5 EXISTS\r\na3 OK x\r\n"),
    ];
    session(&script, async |session| {
        session.begin_idle().await.unwrap();
        assert!(matches!(session.noop().await, Err(Fault::Unusable)), "IDLE must end first");
        session.wait_for_more(3).await.unwrap();
        session.end_idle().await.unwrap();
        assert_eq!(session.mailbox().exists, 5);
    });
    for (answer, expected) in [
        ("a3 NO not now\r\n", "Refused"),
        ("a3 OK over\r\n", "Flawed(Tag)"),
        ("+ idling\r\n+ again\r\n", "Flawed(Continuation)"),
        ("+ idling\r\n* 9 EXPUNGE\r\n", "Flawed(Sequence(9))"),
        ("+ idling\r\n* BYE too long\r\n", "Ended"),
        ("+ idling\r\n* 4 EXI", "Broken"),
        ("", "Broken"),
    ] {
        session(&[("IDLE\r\n", answer)], async |session| {
            session.begin_idle().await.unwrap();
            let fault = format!("{:?}", session.wait_for_more(3).await.unwrap_err());
            assert!(fault.starts_with(expected), "{fault} to {answer}");
        });
    }
}

/// The fault of a connection with this address and script.
fn unconnected(url: &str, script: &[(&'static str, &str)]) -> Fault {
    let peer = Peer::start(script.iter().map(|(wanted, answer)| step(wanted, answer)).collect());
    let client = client(&url.replace("HOST", &peer.host));
    let fault = on_worker(async { client.connect(0).await.err().unwrap() });
    drop(client);
    peer.join();
    fault
}

#[test]
fn failed_logins_and_requests_for_tls_have_names() {
    let user = "imap://u:p@HOST";
    assert!(matches!(unconnected(user, &[]), Fault::Broken(_)));
    assert!(matches!(unconnected(user, &[("", "* BYE full\r\n")]), Fault::Refused(_)));
    let foreign = unconnected(user, &[("", "220 smtp\r\n")]);
    assert_eq!(foreign.to_string(), "the server speaks SMTP and not IMAP: `220 smtp`");
    assert!(matches!(unconnected(user, &[("", "* 3 EXISTS\r\n")]), Fault::Flawed(Flaw::Begin)));
    assert!(matches!(unconnected(user, &[("", GREETING), ("LOGIN", "a1 NO wrong\r\n")]), Fault::Refused(_)));
    let tls = "imap://u:p@HOST?starttls=yes&verify=no";
    assert!(matches!(unconnected(tls, &[("", GREETING), ("STARTTLS", "a1 NO none\r\n")]), Fault::Refused(_)));
    let injected = unconnected(tls, &[("", GREETING), ("STARTTLS", "a1 OK go\r\n* OK x\r\n")]);
    assert!(matches!(injected, Fault::Flawed(Flaw::Unprotected)), "{injected:?}");
    assert!(matches!(unconnected(tls, &[("", GREETING), ("STARTTLS", "a1 OK go\r\n")]), Fault::Connect(_)));
    assert!(matches!(unconnected("imaps://u:p@HOST?verify=no", &[("", GREETING)]), Fault::Connect(_)));
}

#[test]
fn tls_that_ends_amid_an_answer_is_a_broken_connection() {
    let identity = Authority::new().unwrap().server().unwrap();
    let config = Arc::new(identity.config(&[]).unwrap());
    let peer = Peer::doing(move |stream| {
        let mut secured = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let cut = "* 1 FETCH (BODY[] {100}\r\nhalf";
        assert!(follow(
            &mut secured,
            &[step("", GREETING), step("LOGIN", LOGIN), step("SELECT", SELECT), step("FETCH", cut)]
        ));
        // The connection ends without a closing alert.
        secured.sock.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let client = client(&format!("imaps://u:p@{}?verify=no", peer.host));
    on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        session.select("INBOX").await.unwrap();
        let fault = session.fetch("1", "BODY[]", |_| {}).await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
    });
    drop(client);
    peer.join();
}
