//! Answers that break the protocol: each ends as a fault with a name, and none as a hang or a panic.

use std::io::{Read as _, Write as _};

use barograph_postgres::{Connection, Fault, Flaw, LoginError, Param, Reply, Statement};
use barograph_testkit::Authority;
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

use super::messages::{all, bound, complete, description, error, message, ready, row, welcome};
use super::on_worker;
use super::peer::{Peer, request};

/// A statement with the parameter `$1` of type `integer`, and a column of type `bigint`.
async fn prepared(session: &mut Connection) -> Statement {
    session.prepare("SELECT $1::int::bigint").await.unwrap()
}

/// What the execution of a statement ends with that is answered like this.
fn executed(answer: Vec<u8>) -> Result<u64, Fault> {
    let peer = Peer::start(vec![welcome(), all(&[description(&[23], &[20]), ready()]), answer]);
    let end = on_worker(async {
        let mut session = peer.session().await;
        let statement = prepared(&mut session).await;
        let end = session.execute(statement, &[Param::Int(1)]).await;
        if let Err(fault) = &end
            && !matches!(fault, Fault::Server(_))
        {
            assert!(!session.is_usable(), "{fault:?}");
            assert!(matches!(session.execute(statement, &[Param::Int(1)]).await, Err(Fault::Unusable)));
        }
        end
    });
    peer.join();
    end
}

/// The flaw in the answer to a statement.
fn flaw(answer: &[Vec<u8>]) -> Flaw {
    match executed(all(answer)) {
        Err(Fault::Flawed(flaw)) => flaw,
        other => panic!("{other:?}"),
    }
}

fn order(tag: char) -> Flaw {
    Flaw::Order { tag, to: "a prepared statement" }
}

#[test]
fn a_good_answer_is_good() {
    let good = all(&[bound(), row(&[&[0; 8]]), complete("SELECT 1"), ready()]);
    assert_eq!(executed(good).unwrap(), 1);
}

#[test]
fn unknown_types_and_lengths_are_flaws() {
    assert_eq!(flaw(&[bound(), b"D\0\0\0\x03".to_vec()]), Flaw::Length { tag: 'D', length: 3 });
    assert_eq!(flaw(&[bound(), b"D\xff\xff\xff\xff".to_vec()]), Flaw::Length { tag: 'D', length: -1 });
    // A row of 1 GiB is refused before it comes.
    assert_eq!(flaw(&[bound(), b"D\x40\0\0\0".to_vec()]), Flaw::Length { tag: 'D', length: 1 << 30 });
    assert_eq!(flaw(&[b"HTTP/1.1 200 OK\r\n\r\n".to_vec()]), Flaw::Length { tag: 'H', length: 0x5454_502f });
    assert_eq!(flaw(&[message(b'!', b"")]), Flaw::Type(b'!'));
    assert_eq!(flaw(&[message(b'W', b"\0\0\0")]), Flaw::Type(b'W'));
}

#[test]
fn counts_and_lengths_beyond_the_message_are_flaws() {
    assert_eq!(
        flaw(&[bound(), message(b'D', b"\0\x02\0\0\0\x01x")]),
        Flaw::Cut('D'),
        "two columns, and one is there"
    );
    assert_eq!(
        flaw(&[bound(), message(b'D', b"\0\x01\0\0\0\x09x")]),
        Flaw::Cut('D'),
        "a value beyond the end"
    );
    assert_eq!(flaw(&[bound(), message(b'D', b"\0\x01\xff\xff\xff\xfe")]), Flaw::Negative('D'));
    assert_eq!(flaw(&[bound(), message(b'D', b"\0\x01\0\0\0\0x")]), Flaw::Excess('D'));
    assert_eq!(flaw(&[bound(), row(&[b"a", b"b"])]), Flaw::Columns { described: 1, got: 2 });
    assert_eq!(
        flaw(&[bound(), complete("SELECT 0"), message(b'Z', b"?")]),
        Flaw::Code { tag: 'Z', code: 63 }
    );
    assert_eq!(flaw(&[bound(), message(b'C', b"SELECT 0")]), Flaw::Cut('C'), "a tag without its end");
    assert_eq!(flaw(&[message(b'E', b"SERROR\0Mno state\0\0")]), Flaw::Cut('E'));
    assert_eq!(flaw(&[message(b'N', b"SNOTICE")]), Flaw::Cut('N'));
    assert_eq!(flaw(&[message(b'S', b"name\0\xff\0")]), Flaw::Text('S'));
    assert_eq!(flaw(&[message(b'2', b"x")]), Flaw::Excess('2'));
}

#[test]
fn messages_out_of_order_are_flaws() {
    assert_eq!(flaw(&[row(&[&[0; 8]])]), order('D'), "before the statement is bound");
    assert_eq!(flaw(&[complete("SELECT 0")]), order('C'));
    assert_eq!(flaw(&[bound(), bound()]), order('2'));
    assert_eq!(flaw(&[bound(), ready()]), order('Z'), "before the statement is complete");
    assert_eq!(flaw(&[ready()]), order('Z'));
    assert_eq!(flaw(&[message(b'R', &[0; 4])]), order('R'), "a second login");
    assert_eq!(flaw(&[bound(), message(b'G', b"\0\0\0")]), order('G'));
    let end = |tag| Flaw::Order { tag, to: "the end of a batch" };
    assert_eq!(flaw(&[bound(), complete("SELECT 0"), complete("SELECT 0")]), end('C'));
    assert_eq!(flaw(&[error("ERROR", "22012"), bound()]), end('2'));
    assert_eq!(flaw(&[error("ERROR", "22012"), error("ERROR", "22012")]), end('E'));
}

#[test]
fn an_answer_that_ends_early_is_a_broken_connection() {
    let whole = all(&[bound(), row(&[&[0; 8]]), complete("SELECT 1"), ready()]);
    for end in 0..whole.len() {
        let fault = executed(whole[..end].to_vec()).unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{end}: {fault:?}");
    }
}

#[test]
fn a_fatal_error_ends_the_session_with_its_reason() {
    let last = all(&[bound(), row(&[&[0; 8]]), error("FATAL", "57P01")]);
    let fault = executed(last).unwrap_err();
    assert!(matches!(&fault, Fault::Ended(said) if said.to_string() == "said (57P01)"), "{fault:?}");
    let fault = executed(error("PANIC", "XX000")).unwrap_err();
    assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
    let fault = executed(all(&[error("ERROR", "40001"), ready()])).unwrap_err();
    assert!(matches!(fault, Fault::Server(_)), "{fault:?}");
}

#[test]
fn an_answer_to_nothing_makes_a_connection_unusable() {
    let good = all(&[bound(), complete("SELECT 0"), ready()]);
    let more = all(&[good.clone(), good]);
    let peer = Peer::start(vec![welcome(), all(&[description(&[23], &[20]), ready()]), more]);
    on_worker(async {
        let mut session = peer.session().await;
        let statement = prepared(&mut session).await;
        assert_eq!(session.execute(statement, &[Param::Int(1)]).await.unwrap(), 0);
        assert!(!session.is_usable());
        // It is not taken for the next one.
        let fault = session.execute(statement, &[Param::Int(1)]).await.unwrap_err();
        assert!(matches!(fault, Fault::Flawed(Flaw::Order { tag: '2', to: "nothing" })), "{fault:?}");
        assert!(matches!(session.execute(statement, &[Param::Int(1)]).await, Err(Fault::Unusable)));
    });
    peer.join();
}

#[test]
fn broken_descriptions_are_flaws() {
    let told = |answer: Vec<u8>| {
        let peer = Peer::start(vec![welcome(), answer]);
        let fault = on_worker(async { peer.session().await.prepare("SELECT 1").await.unwrap_err() });
        peer.join();
        match fault {
            Fault::Flawed(flaw) => flaw,
            other => panic!("{other:?}"),
        }
    };
    let order = |tag| Flaw::Order { tag, to: "a request to prepare" };
    let (parsed, none) = (message(b'1', b""), message(b't', b"\0\0"));
    assert_eq!(told(none.clone()), order('t'));
    assert_eq!(told(all(&[parsed.clone(), parsed.clone()])), order('1'));
    assert_eq!(told(all(&[parsed.clone(), message(b'n', b"")])), order('n'));
    assert_eq!(told(all(&[parsed.clone(), message(b't', b"\0\x02\0\0\0\x17")])), Flaw::Cut('t'));
    assert_eq!(told(all(&[parsed.clone(), none.clone(), message(b'T', b"\xff\xff")])), Flaw::Cut('T'));
    assert_eq!(told(all(&[parsed.clone(), none.clone(), message(b'T', b"\0\x01\xff\0")])), Flaw::Text('T'));
    assert_eq!(told(all(&[description(&[], &[]), bound()])), order('2'));
}

#[test]
fn failed_logins_have_names() {
    let told = |answer: Vec<u8>| {
        let peer = Peer::start(vec![answer]);
        let fault = on_worker(async { peer.client("").connect(0).await.err().unwrap() });
        peer.join();
        fault
    };
    let method = |code: u8| message(b'R', &[0, 0, 0, code]);
    assert!(matches!(told(Vec::new()), Fault::Broken(_)));
    assert!(matches!(told(method(7)), Fault::Login(_)), "GSSAPI");
    assert!(matches!(told(method(3)), Fault::Login(_)), "no password is named");
    assert!(matches!(told(method(5)), Fault::Flawed(Flaw::Cut('R'))), "MD5 without its salt");
    assert!(matches!(told(message(b'R', b"\0\0\0\x0aOTHER\0\0")), Fault::Login(_)));
    assert!(matches!(told(ready()), Fault::Flawed(Flaw::Order { tag: 'Z', .. })), "before the login");
    assert!(matches!(told(error("FATAL", "53300")), Fault::Refused(_)));
    assert!(matches!(told(all(&[method(0), method(0)])), Fault::Flawed(Flaw::Order { tag: 'R', .. })));
    assert!(matches!(told(all(&[method(0), message(b'K', b"\0\0")])), Fault::Flawed(Flaw::Cut('K'))));
}

#[test]
fn a_login_without_a_proof_of_the_server_is_refused() {
    let begin = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let taken = all(&[message(b'R', &[0; 4]), ready()]);
    let peer = Peer::start(vec![begin, taken]);
    let fault = on_worker(async { peer.client_with_password().connect(0).await.err().unwrap() });
    assert!(matches!(fault, Fault::Login(LoginError::Unproven)), "{fault:?}");
    peer.join();
}

#[test]
fn failed_requests_for_tls_have_names() {
    let told = |answer: &'static [u8]| {
        let peer = Peer::start(vec![answer.to_vec()]);
        let fault = on_worker(async { peer.client("sslmode=require").connect(0).await.err().unwrap() });
        peer.join();
        fault
    };
    assert!(matches!(told(b""), Fault::Broken(_)));
    assert!(matches!(told(b"N"), Fault::NoTls { .. }));
    assert!(matches!(told(b"E"), Fault::Flawed(Flaw::TlsAnswer(b'E'))));
    // Bytes that were put before the handshake are never taken for those of the server.
    assert!(matches!(told(b"SR\0\0\0\x08\0\0\0\0"), Fault::Flawed(Flaw::Unprotected)));
    assert!(
        matches!(told(b"S"), Fault::Connect(barograph_net::Fault::Tls { .. })),
        "closed in the handshake"
    );
}

#[test]
fn tls_that_ends_amid_an_answer_is_a_broken_connection() {
    let identity = Authority::new().unwrap().server().unwrap();
    let config = std::sync::Arc::new(identity.config(&[]).unwrap());
    let peer = Peer::doing(move |mut stream| {
        assert!(request(&mut stream, true));
        stream.write_all(b"S").unwrap();
        let mut secured = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let mut length = [0; 4];
        secured.read_exact(&mut length).unwrap();
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        secured.read_exact(&mut startup).unwrap();
        secured.write_all(&all(&[welcome(), row(&[b"a"])[..3].to_vec()])).unwrap();
        secured.flush().unwrap();
        // No goodbye of TLS: the connection just ends.
        secured.sock.shutdown(std::net::Shutdown::Write).unwrap();
    });
    on_worker(async {
        let mut session = peer.client("sslmode=require").connect(0).await.unwrap();
        let fault = session.query("SELECT 1").unwrap().finish().await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        assert!(!session.is_usable());
    });
    peer.join();
}

#[test]
fn failed_copies_have_names() {
    let told = |answers: Vec<Vec<u8>>| {
        let peer = Peer::start([vec![welcome()], answers].concat());
        let fault = on_worker(async {
            let mut session = peer.session().await;
            let fault = match session.copy_in("COPY t FROM STDIN").await {
                Ok(copy) => copy.finish().await.unwrap_err(),
                Err(fault) => fault,
            };
            assert!(!session.is_usable() || matches!(fault, Fault::Server(_)), "{fault:?}");
            fault
        });
        peer.join();
        fault
    };
    let begin = || message(b'G', b"\0\0\0");
    let order =
        |fault: &Fault, at: char| matches!(fault, Fault::Flawed(Flaw::Order { tag, .. }) if *tag == at);
    assert!(order(&told(vec![message(b'H', b"\0\0\0")]), 'H'), "the other direction");
    assert!(matches!(told(vec![message(b'G', b"\0\0\x05")]), Fault::Flawed(Flaw::Cut('G'))));
    assert!(order(&told(vec![begin(), ready()]), 'Z'));
    assert!(order(&told(vec![begin(), all(&[complete("COPY 1"), complete("COPY 1")])]), 'C'));
    assert!(matches!(told(vec![begin()]), Fault::Broken(_)));
    assert!(matches!(told(vec![begin(), all(&[error("ERROR", "22P02"), ready()])]), Fault::Server(_)));
}

#[test]
fn a_row_is_read_whatever_the_pieces_it_comes_in() {
    let value = 7_i64.to_be_bytes();
    let answer = all(&[bound(), row(&[&value]), row(&[&value]), complete("SELECT 2"), ready()]);
    let peer = Peer::doing(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        assert!(request(&mut stream, true));
        stream.write_all(&welcome()).unwrap();
        assert!(request(&mut stream, false));
        stream.write_all(&all(&[description(&[23], &[20]), ready()])).unwrap();
        assert!(request(&mut stream, false));
        for byte in answer {
            stream.write_all(&[byte]).unwrap();
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    on_worker(async {
        let mut session = peer.session().await;
        let statement = prepared(&mut session).await;
        let mut batch = session.batch();
        batch.execute(statement, &[Param::Int(1)]).unwrap();
        let mut replies = batch.send().unwrap();
        let mut values = Vec::new();
        while let Some(Reply::Row(row)) = replies.next().await.unwrap() {
            values.push(row.get::<i64>(0).unwrap());
        }
        assert!(replies.next().await.unwrap().is_none());
        assert_eq!(values, [7, 7]);
    });
    peer.join();
}
