//! Answers that break the protocol: each ends as a fault with a name.

use std::sync::Arc;

use barograph_smtp::{Dialect, Envelope, Fault, Flaw, Receipt};
use barograph_testkit::{Authority, Peer, Step, follow, step};
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

use super::{client, on_worker};

const GREETING: &str = "220 test\r\n";
const PLAIN_HELLO: &str = "250 test\r\n";
const PIPELINING: &str = "250-test\r\n250 PIPELINING\r\n";
const CHUNKING: &str = "250-test\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250 CHUNKING\r\n";

/// Submits a mail to two recipients at a peer with this script after its greeting.
fn submitted(dialect: Dialect, script: &[(&'static str, &str)]) -> Result<Receipt, Fault> {
    let mut steps = vec![step("", GREETING)];
    steps.extend(script.iter().map(|(wanted, answer)| step(wanted, answer)));
    let peer = Peer::start(steps);
    let client = client(&format!("smtp://{}", peer.host), dialect);
    let end = on_worker(async {
        let mut session = client.connect(0).await?;
        let end = session.submit(&Envelope { from: "a@x", to: &["b@x", "c@x"] }, b".dot\r\nline\r\n").await;
        if !matches!(end, Ok(_) | Err(Fault::Refused(_))) {
            assert!(!session.is_usable(), "{end:?}");
            assert!(matches!(session.noop().await, Err(Fault::Unusable)));
        }
        end
    });
    drop(client);
    peer.join();
    end
}

fn smtp(script: &[(&'static str, &str)]) -> Result<Receipt, Fault> {
    submitted(Dialect::Smtp, script)
}

/// The flaw of a submission whose envelope is answered in this way.
fn flaw(answer: &str) -> Flaw {
    match smtp(&[("EHLO", PIPELINING), ("DATA\r\n", answer)]) {
        Err(Fault::Flawed(flaw)) => flaw,
        other => panic!("{other:?}"),
    }
}

fn refusal(end: Result<Receipt, Fault>) -> String {
    match end {
        Err(Fault::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn good_answers_are_good_in_every_form() {
    let all = Receipt { taken: vec![true, true], refusal: None };
    let step_by_step = [
        ("EHLO", PLAIN_HELLO),
        ("MAIL FROM:<a@x>\r\n", "250 ok\r\n"),
        ("RCPT TO:<b@x>\r\n", "250 ok\r\n"),
        ("RCPT TO:<c@x>\r\n", "251 ok\r\n"),
        ("DATA\r\n", "354 go\r\n"),
        ("..dot\r\nline\r\n.\r\n", "250 stored\r\n"),
    ];
    assert_eq!(smtp(&step_by_step).unwrap(), all);
    let envelope = "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n";
    let piped = [("EHLO", PIPELINING), ("DATA\r\n", envelope), ("\r\n.\r\n", "250 stored\r\n")];
    assert_eq!(smtp(&piped).unwrap(), all);
    let chunk = [
        ("EHLO", CHUNKING),
        ("SIZE=12\r\n", ""),
        ("RCPT TO:<c@x>\r\n", "250 a\r\n250 b\r\n250 c\r\n"),
        ("BDAT 12 LAST\r\n.dot\r\nline\r\n", "250 d\r\n"),
    ];
    assert_eq!(smtp(&chunk).unwrap(), all);
}

#[test]
fn refusals_are_told_and_leave_the_session_usable() {
    let one = [
        ("EHLO", PIPELINING),
        ("DATA\r\n", "250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n"),
        ("\r\n.\r\n", "250 stored\r\n"),
    ];
    let expected = Receipt { taken: vec![false, true], refusal: Some("550 no".to_owned()) };
    assert_eq!(smtp(&one).unwrap(), expected);
    // A server that asks for a mail without a recipient is given an empty one.
    let none = [
        ("EHLO", PIPELINING),
        ("DATA\r\n", "250 ok\r\n550 no\r\n550 no\r\n354 go\r\n"),
        (".\r\n", "554 no recipients\r\n"),
        ("RSET", "250 ok\r\n"),
    ];
    assert_eq!(refusal(smtp(&none)), "550 no");
    let sender = [
        ("EHLO", PIPELINING),
        ("DATA\r\n", "550 sender\r\n503 no\r\n503 no\r\n503 no\r\n"),
        ("RSET", "250 ok\r\n"),
    ];
    assert_eq!(refusal(smtp(&sender)), "550 sender");
    let mail = [
        ("EHLO", PIPELINING),
        ("DATA\r\n", "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"),
        ("\r\n.\r\n", "552-too\r\n552 large\r\n"),
        ("RSET", "250 ok\r\n"),
    ];
    assert_eq!(refusal(smtp(&mail)), "552 too large");
    let data = [
        ("EHLO", PLAIN_HELLO),
        ("MAIL", "250 ok\r\n"),
        ("RCPT", "250 ok\r\n"),
        ("RCPT", "250 ok\r\n"),
        ("DATA", "451 later\r\n"),
        ("RSET", "250 ok\r\n"),
    ];
    assert_eq!(refusal(smtp(&data)), "451 later");
    // A mail without a recipient is not sent.
    let chunk =
        [("EHLO", CHUNKING), ("<c@x>\r\n", "250 a\r\n550 b\r\n550 c\r\n"), ("RSET\r\n", "250 ok\r\n")];
    assert_eq!(refusal(smtp(&chunk)), "550 b");
    assert_eq!(refusal(smtp(&[("EHLO", "502 no\r\n")])), "502 no");
}

#[test]
fn lmtp_answers_for_each_recipient() {
    let envelope = "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n";
    let script = [("LHLO", PIPELINING), ("DATA\r\n", envelope), ("\r\n.\r\n", "250 b\r\n452 full\r\n")];
    let expected = Receipt { taken: vec![true, false], refusal: Some("452 full".to_owned()) };
    assert_eq!(submitted(Dialect::Lmtp, &script).unwrap(), expected);
    let script = [("LHLO", PIPELINING), ("DATA\r\n", envelope), ("\r\n.\r\n", "250 b\r\n")];
    assert!(matches!(submitted(Dialect::Lmtp, &script), Err(Fault::Broken(_))), "one reply is missing");
}

#[test]
fn broken_replies_are_flaws() {
    let long = format!("250 {}\r\n", "x".repeat(5_000));
    for (answer, expected) in [
        ("250 ok\n", Flaw::BareLineFeed),
        ("\r\n", Flaw::Code),
        ("ok\r\n", Flaw::Code),
        ("99 ok\r\n", Flaw::Code),
        ("2x0 ok\r\n", Flaw::Code),
        ("650 ok\r\n", Flaw::Code),
        ("-250 ok\r\n", Flaw::Code),
        ("2 50 ok\r\n", Flaw::Code),
        ("250\tok\r\n", Flaw::Code),
        ("25\r\n", Flaw::Code),
        ("250=ok\r\n", Flaw::Code),
        ("HTTP/1.1 200 OK\r\n", Flaw::Code),
        ("* OK IMAP4rev1\r\n", Flaw::Code),
        ("\u{1}\u{2}\u{3}\u{4}\r\n", Flaw::Code),
        ("250-a\r\n550 b\r\n", Flaw::Codes { first: 250, other: 550 }),
        (&long, Flaw::LongLine),
        (&"250-x\r\n".repeat(200), Flaw::ManyLines),
        ("354 go\r\n", Flaw::Order { code: 354, command: "MAIL" }),
        ("250 ok\r\n354 go\r\n", Flaw::Order { code: 354, command: "RCPT" }),
        // One reply more than commands: the fourth is that to DATA, and the last that to the reset after it.
        ("250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n", Flaw::Surplus),
    ] {
        assert_eq!(flaw(answer), expected, "{answer:.40}");
    }
}

#[test]
fn an_answer_that_ends_early_is_a_broken_connection() {
    let whole = "250 ok\r\n250-ok\r\n250 ok\r\n250 ok\r\n354 go\r\n";
    for end in 0..whole.len() {
        let fault = smtp(&[("EHLO", PIPELINING), ("DATA\r\n", &whole[..end])]).unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{end}: {fault:?}");
    }
    let fault = smtp(&[("EHLO", PIPELINING), ("DATA\r\n", whole)]).unwrap_err();
    assert!(matches!(fault, Fault::Broken(_)), "no reply to the mail: {fault:?}");
    assert!(matches!(smtp(&[]).unwrap_err(), Fault::Broken(_)));
}

#[test]
fn a_server_that_leaves_is_named() {
    let fault = smtp(&[("EHLO", PIPELINING), ("DATA\r\n", "421 going\r\n")]).unwrap_err();
    assert!(matches!(&fault, Fault::Ended(why) if why == "421 going"), "{fault:?}");
    let fault = smtp(&[("EHLO", "421 busy\r\n")]).unwrap_err();
    assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
}

#[test]
fn an_address_with_a_line_break_is_not_sent() {
    let peer = Peer::start(vec![step("", GREETING), step("EHLO", PLAIN_HELLO), step("NOOP", "250 ok\r\n")]);
    let client = client(&format!("smtp://{}", peer.host), Dialect::Smtp);
    on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        let envelope = Envelope { from: "a@x", to: &["b@x>\r\nDATA"] };
        assert!(matches!(session.submit(&envelope, b"x\r\n").await, Err(Fault::Argument)));
        session.noop().await.unwrap();
    });
    drop(client);
    peer.join();
}

#[test]
fn a_reply_too_many_is_not_that_to_the_next_command() {
    let envelope = "250 ok\r\n250 ok\r\n354 go\r\n";
    for (dialect, hello, replies) in [
        (Dialect::Smtp, "EHLO", "250 stored\r\n250 again\r\n"),
        (Dialect::Smtp, "EHLO", "250 stored\r\n421 going\r\n"),
        (Dialect::Lmtp, "LHLO", "250 b\r\n250 of another\r\n"),
    ] {
        let script = [(hello, PIPELINING), ("DATA\r\n", envelope), ("\r\n.\r\n", replies)];
        let steps = [("", GREETING)].into_iter().chain(script);
        let peer = Peer::start(steps.map(|(wanted, answer)| step(wanted, answer)).collect());
        let client = client(&format!("smtp://{}", peer.host), dialect);
        on_worker(async {
            let mut session = client.connect(0).await.unwrap();
            let receipt = session.submit(&Envelope { from: "a@x", to: &["b@x"] }, b"x\r\n").await.unwrap();
            assert_eq!(receipt.taken, [true], "the mail was taken");
            assert!(!session.is_usable(), "{replies}");
            let fault = session.noop().await.unwrap_err();
            assert!(matches!(fault, Fault::Flawed(Flaw::Surplus)), "{fault:?}");
        });
        drop(client);
        peer.join();
    }
}

/// The fault of a connection with this address and script.
fn unconnected(url: &str, script: Vec<Step>) -> Fault {
    let peer = Peer::start(script);
    let client = client(&url.replace("HOST", &peer.host), Dialect::Smtp);
    let fault = on_worker(async { client.connect(0).await.err().unwrap() });
    drop(client);
    peer.join();
    fault
}

#[test]
fn failed_logins_and_requests_for_tls_have_names() {
    let auth = "250-test\r\n250 AUTH PLAIN\r\n";
    let login = "250-test\r\n250 AUTH LOGIN\r\n";
    let begin = |hello: &str| vec![step("", GREETING), step("EHLO", hello)];
    let with = |hello: &str, more: &[(&'static str, &str)]| {
        let more = more.iter().map(|(wanted, answer)| step(wanted, answer));
        begin(hello).into_iter().chain(more).collect::<Vec<_>>()
    };
    let user = "smtp://u:p@HOST";
    let foreign = unconnected(user, vec![step("", "* OK IMAP4rev1\r\n")]);
    assert_eq!(foreign.to_string(), "the server speaks IMAP and not SMTP: `* OK IMAP4rev1`");
    assert!(matches!(unconnected(user, begin(PLAIN_HELLO)), Fault::Lacks(_)));
    assert!(matches!(unconnected(user, with(auth, &[("AHUAcA==", "535 no\r\n")])), Fault::Refused(_)));
    let order = unconnected(user, with(auth, &[("AUTH PLAIN", "334 more\r\n")]));
    assert!(matches!(order, Fault::Flawed(Flaw::Order { code: 334, .. })), "{order:?}");
    let early = unconnected(user, with(login, &[("AUTH LOGIN", "235 already\r\n")]));
    assert!(matches!(early, Fault::Flawed(Flaw::Order { code: 235, .. })), "{early:?}");
    let tls = "smtp://HOST?starttls=yes&verify=no";
    assert!(matches!(unconnected(tls, begin(PLAIN_HELLO)), Fault::Lacks("STARTTLS")));
    let offer = "250-test\r\n250 STARTTLS\r\n";
    assert!(matches!(unconnected(tls, with(offer, &[("STARTTLS", "454 no\r\n")])), Fault::Refused(_)));
    // Bytes that were put before the handshake are never taken for those of the server.
    let injected = unconnected(tls, with(offer, &[("STARTTLS", "220 go\r\n250 x\r\n")]));
    assert!(matches!(injected, Fault::Flawed(Flaw::Unprotected)), "{injected:?}");
    assert!(matches!(unconnected(tls, with(offer, &[("STARTTLS", "220 go\r\n")])), Fault::Connect(_)));
    let clear = unconnected("smtps://HOST?verify=no", vec![step("", GREETING)]);
    assert!(matches!(clear, Fault::Connect(_)), "{clear:?}");
}

#[test]
fn tls_that_ends_amid_an_answer_is_a_broken_connection() {
    let identity = Authority::new().unwrap().server().unwrap();
    let config = Arc::new(identity.config(&[]).unwrap());
    let peer = Peer::doing(move |mut stream| {
        let offer = "250-test\r\n250 STARTTLS\r\n";
        assert!(follow(
            &mut stream,
            &[step("", GREETING), step("EHLO", offer), step("STARTTLS\r\n", "220 go\r\n")]
        ));
        let mut secured = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        assert!(follow(&mut secured, &[step("EHLO", PIPELINING), step("DATA\r\n", "250 ok\r\n25")]));
        // The connection ends without a closing alert.
        secured.sock.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let client = client(&format!("smtp://{}?starttls=yes&verify=no", peer.host), Dialect::Smtp);
    on_worker(async {
        let mut session = client.connect(0).await.unwrap();
        let fault = session.submit(&Envelope { from: "a@x", to: &["b@x"] }, b"x\r\n").await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
    });
    drop(client);
    peer.join();
}
