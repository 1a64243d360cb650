//! Answers that break the protocol: each ends as a fault with a name, and none as a hang or a panic.

use std::io::{Read as _, Write as _};

use barograph_mysql::{CallError, Connection, ErrorCode, Fault, Flaw, Param, Reply, Statement};

use super::messages::{
    answer, column, end, end_with, error, greeting_with, head, ok, packet, prepared, row, welcome,
};
use super::on_worker;
use super::peer::{Peer, message};

const TO: &str = "a statement";

/// A statement with a parameter, and a column of type `bigint`.
async fn begun(session: &mut Connection) -> Statement {
    session.prepare("SELECT ?").await.unwrap()
}

/// The end of the execution of a statement that is answered with these bytes.
fn executed(bytes: Vec<u8>) -> Result<u64, Fault> {
    let [greeting, login] = welcome();
    let peer = Peer::start(vec![greeting, login, prepared(1, &[8]), bytes]);
    let end = on_worker(async {
        let mut session = peer.session().await;
        let statement = begun(&mut session).await;
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

/// The flaw in an answer of these messages.
fn flaw(bodies: &[Vec<u8>]) -> Flaw {
    flaw_of(answer(bodies))
}

fn flaw_of(bytes: Vec<u8>) -> Flaw {
    match executed(bytes) {
        Err(Fault::Flawed(flaw)) => flaw,
        other => panic!("{other:?}"),
    }
}

/// The columns of the statement, and these messages.
fn rows(bodies: &[Vec<u8>]) -> Vec<Vec<u8>> {
    [head(&[8]), bodies.to_vec()].concat()
}

fn order(first: u8) -> Flaw {
    Flaw::Order { first, to: TO }
}

#[test]
fn a_good_answer_is_good() {
    assert_eq!(executed(answer(&rows(&[row(&[&[0; 8]]), end()]))).unwrap(), 1);
    assert_eq!(executed(answer(&[ok(3)])).unwrap(), 3);
    // Two results, and the end of a CALL.
    let first = rows(&[row(&[&[0; 8]]), end_with(10)]);
    let second = rows(&[row(&[&[0; 8]]), row(&[&[1; 8]]), end_with(10)]);
    assert_eq!(executed(answer(&[first, second, vec![ok(0)]].concat())).unwrap(), 3);
}

#[test]
fn numbers_and_lengths_of_packets_are_checked() {
    assert_eq!(flaw_of(packet(2, &ok(0))), Flaw::Number { expected: 1, got: 2 });
    assert_eq!(flaw_of(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Flaw::Number { expected: 1, got: b'P' });
    assert_eq!(flaw_of(packet(1, b"")), Flaw::Empty);
    let mut twice = answer(&rows(&[]));
    twice.extend(packet(4, &row(&[&[0; 8]])));
    twice.extend(packet(4, &end()));
    assert_eq!(flaw_of(twice), Flaw::Number { expected: 5, got: 4 });
}

#[test]
fn fields_beyond_the_message_are_flaws() {
    assert_eq!(flaw(&[ok(0)[..5].to_vec()]), Flaw::Cut("OK"));
    assert_eq!(flaw(&[vec![0, 251]]), Flaw::Null("OK"));
    assert_eq!(flaw(&[vec![1, 0]]), Flaw::Excess("a number of columns"));
    assert_eq!(flaw(&[vec![0xfc, 1]]), Flaw::Cut("a number of columns"));
    let long = column(8);
    assert_eq!(flaw(&[vec![1], long[..9].to_vec()]), Flaw::Cut("a column"));
    assert_eq!(flaw(&[vec![1], [&long[..], b"x"].concat()]), Flaw::Excess("a column"));
    assert_eq!(flaw(&[vec![1], vec![0xfe, 255, 255, 255, 255, 255, 255, 255, 255]]), Flaw::Cut("a column"));
    assert_eq!(flaw(&rows(&[row(&[&[0; 7]])])), Flaw::Cut("a row"));
    assert_eq!(flaw(&rows(&[row(&[&[0; 9]])])), Flaw::Excess("a row"));
    assert_eq!(flaw(&rows(&[vec![0]])), Flaw::Cut("a row"), "the nulls are missing");
    assert_eq!(flaw(&rows(&[end()[..3].to_vec()])), Flaw::Cut("the end of rows"));
    assert_eq!(flaw(&[vec![0xff, 1]]), Flaw::Cut("an error"));
}

#[test]
fn messages_out_of_order_are_flaws() {
    assert_eq!(flaw(&[end()]), order(0xfe), "no columns were told");
    assert_eq!(flaw(&[vec![0xfb, b'f']]), order(0xfb), "a file is not given to any statement");
    assert_eq!(flaw(&[vec![1], column(8), row(&[&[0; 8]])]), order(0), "before the end of the columns");
    assert_eq!(flaw(&[vec![1], column(8), column(8)]), order(3));
    let binary = Flaw::Order { first: 1, to: "a prepared statement" };
    assert_eq!(flaw(&rows(&[vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0]])), binary);
    assert_eq!(flaw(&[vec![1], end()]), Flaw::Cut("a column"));
}

#[test]
fn an_answer_that_ends_early_is_a_broken_connection() {
    let whole = answer(&rows(&[row(&[&[0; 8]]), end()]));
    for end in 0..whole.len() {
        let fault = executed(whole[..end].to_vec()).unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{end}: {fault:?}");
    }
}

#[test]
fn errors_end_a_statement_or_the_session() {
    let code = |fault: &Fault| fault.diagnostic().unwrap().code();
    let fault = executed(answer(&[error(1213, "40001")])).unwrap_err();
    assert!(matches!(&fault, Fault::Server(said) if said.to_string() == "said (1213, 40001)"), "{fault:?}");
    let fault = executed(answer(&rows(&[row(&[&[0; 8]]), error(1205, "HY000")]))).unwrap_err();
    assert!(matches!(fault, Fault::Server(_)), "amid rows: {fault:?}");
    assert_eq!(code(&fault), ErrorCode::LOCK_WAIT_TIMEOUT);
    for fatal in [ErrorCode::SERVER_SHUTDOWN, ErrorCode::CONNECTION_KILLED] {
        // Any number: the server sent it before it read the statement.
        let fault = executed(packet(0, &error(fatal.0, "08S01"))).unwrap_err();
        assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
        assert_eq!(code(&fault), fatal);
    }
}

#[test]
fn an_answer_to_nothing_makes_a_connection_unusable() {
    let [greeting, login] = welcome();
    let more = [answer(&[ok(0)]), packet(0, &ok(0))].concat();
    let peer = Peer::start(vec![greeting, login, prepared(1, &[8]), more]);
    on_worker(async {
        let mut session = peer.session().await;
        let statement = begun(&mut session).await;
        assert_eq!(session.execute(statement, &[Param::Int(1)]).await.unwrap(), 0);
        assert!(!session.is_usable());
        // It is not taken for the next one.
        let fault = session.execute(statement, &[Param::Int(1)]).await.unwrap_err();
        assert!(matches!(fault, Fault::Flawed(Flaw::Order { first: 0, to: "nothing" })), "{fault:?}");
        assert!(matches!(session.reset().await, Err(Fault::Unusable)));
    });
    peer.join();
}

#[test]
fn broken_descriptions_are_flaws() {
    let told = |bodies: &[Vec<u8>]| {
        let [greeting, login] = welcome();
        let peer = Peer::start(vec![greeting, login, answer(bodies)]);
        let fault = on_worker(async { peer.session().await.prepare("SELECT 1").await.unwrap_err() });
        peer.join();
        match fault {
            Fault::Flawed(flaw) => flaw,
            other => panic!("{other:?}"),
        }
    };
    let to = "a request to prepare";
    let first = |parameters, columns| vec![0, 9, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0];
    assert_eq!(told(&[vec![1]]), Flaw::Order { first: 1, to });
    assert_eq!(told(&[first(0, 0)[..8].to_vec()]), Flaw::Cut("a prepared statement"));
    assert_eq!(told(&[first(1, 0), ok(0)]), Flaw::Cut("a column"));
    assert_eq!(told(&[first(0, 1), column(8), column(8)]), Flaw::Order { first: 3, to });
}

#[test]
fn a_wrong_call_is_refused_before_anything_is_sent() {
    let [greeting, login] = welcome();
    let script =
        vec![greeting, login, prepared(1, &[8]), answer(&[ok(0)]), answer(&[ok(1)]), answer(&[ok(0)])];
    let peer = Peer::start(script);
    on_worker(async {
        let mut session = peer.session().await;
        let statement = begun(&mut session).await;
        let why = |end: Result<u64, Fault>| match end {
            Err(Fault::Call(why)) => why,
            other => panic!("{other:?}"),
        };
        let count = why(session.execute(statement, &[]).await);
        assert_eq!(count.to_string(), "statement 0 has 1 parameters, and 0 values are given");
        // Nothing of it is left in the next call.
        assert_eq!(session.execute(statement, &[Param::Null]).await.unwrap(), 0);
        assert_eq!(session.query("UPDATE").unwrap().finish().await.unwrap(), 1);
        session.reset().await.unwrap();
        assert_eq!(why(session.execute(statement, &[Param::Null]).await), CallError::Statement(0));
    });
    peer.join();
}

#[test]
fn failed_loads_have_names() {
    let told = |answers: Vec<Vec<u8>>| {
        let [greeting, login] = welcome();
        let peer = Peer::start([vec![greeting, login], answers].concat());
        let fault = on_worker(async {
            let mut session = peer.session().await;
            let fault = match session.load_data("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").await {
                Ok(mut load) => match load.write(b"1\n").await {
                    Ok(()) => load.finish().await.unwrap_err(),
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            assert!(!session.is_usable() || matches!(fault, Fault::Server(_)), "{fault:?}");
            fault
        });
        peer.join();
        fault
    };
    let file = || answer(&[b"\xfbx".to_vec()]);
    let order =
        |fault: &Fault, at: u8| matches!(fault, Fault::Flawed(Flaw::Order { first, .. }) if *first == at);
    assert!(order(&told(vec![answer(&[ok(0)])]), 0), "no data were wanted");
    assert!(matches!(told(vec![answer(&[error(1146, "42S02")])]), Fault::Server(_)));
    assert!(matches!(told(vec![file()]), Fault::Broken(_)));
    // A message of data, and the empty one after it.
    let refused = packet(4, &error(1366, "22007"));
    assert!(matches!(told(vec![file(), Vec::new(), refused]), Fault::Server(_)));
    assert!(order(&told(vec![file(), Vec::new(), packet(4, &end())]), 0xfe));
}

#[test]
fn a_server_that_speaks_amid_data_ends_the_session() {
    let [greeting, login] = welcome();
    let peer = Peer::doing(move |mut stream| {
        stream.write_all(&greeting).unwrap();
        assert!(message(&mut stream).is_some());
        stream.write_all(&login).unwrap();
        assert!(message(&mut stream).is_some());
        stream.write_all(&answer(&[b"\xfbx".to_vec()])).unwrap();
        stream.write_all(&packet(2, &error(1317, "70100"))).unwrap();
        // No data are read before the client gives up.
        let _ = stream.read(&mut [0]);
    });
    on_worker(async {
        let mut session = peer.session().await;
        let mut load = session.load_data("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").await.unwrap();
        let rows = "7\tseven\n".repeat(20_000);
        let fault = loop {
            if let Err(fault) = load.write(rows.as_bytes()).await {
                break fault;
            }
        };
        assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
        assert!(matches!(load.write(b"7\n").await, Err(Fault::Unusable)));
        assert!(matches!(load.finish().await, Err(Fault::Unusable)));
        assert!(!session.is_usable());
        drop(session);
    });
    peer.join();
}

#[test]
fn a_row_is_read_whatever_the_pieces_it_comes_in() {
    let value = 7_i64.to_le_bytes();
    let bytes = answer(&rows(&[row(&[&value]), row(&[&value]), end()]));
    let peer = Peer::doing(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        let [greeting, login] = welcome();
        for answer in [greeting, login, prepared(1, &[8])] {
            stream.write_all(&answer).unwrap();
            assert!(message(&mut stream).is_some());
        }
        for byte in bytes {
            stream.write_all(&[byte]).unwrap();
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    on_worker(async {
        let mut session = peer.session().await;
        let statement = begun(&mut session).await;
        let mut replies = session.start(statement, &[Param::Int(1)]).unwrap();
        let mut values = Vec::new();
        while let Some(Reply::Row(row)) = replies.next().await.unwrap() {
            values.push(row.get::<i64>(0).unwrap());
        }
        assert!(replies.next().await.unwrap().is_none());
        assert_eq!(values, [7, 7]);
    });
    peer.join();
}

#[test]
fn greetings_of_other_servers_are_refused() {
    let told = |bytes: Vec<u8>, query: &str| {
        let peer = Peer::start(vec![bytes]);
        let fault = on_worker(async { peer.client(query).connect(0).await.err().unwrap() });
        peer.join();
        fault
    };
    let flaw = |bytes: Vec<u8>| match told(bytes, "") {
        Fault::Flawed(flaw) => flaw,
        other => panic!("{other:?}"),
    };
    assert!(matches!(told(Vec::new(), ""), Fault::Broken(_)));
    assert_eq!(flaw(packet(0, b"\x09old")), Flaw::Version(9));
    assert_eq!(flaw(packet(0, b"\x0a5.1")), Flaw::Cut("the handshake"));
    assert_eq!(flaw(b"SSH-2.0-OpenSSH\r\n".to_vec()), Flaw::Number { expected: 0, got: b'-' });
    let mut old = greeting_with("", 0);
    let at = old.windows(2).position(|bytes| bytes == [0x00, 0x82]).unwrap();
    old[at + 1] = 0;
    assert_eq!(flaw(old), Flaw::Capabilities(0x8200));
    let refused = told(packet(0, &error(1040, "08004")), "");
    assert!(matches!(refused, Fault::Refused(_)), "{refused:?}");
    assert_eq!(refused.diagnostic().unwrap().code(), ErrorCode::TOO_MANY_CONNECTIONS);
    let fault = told(greeting_with("", 0), "ssl-mode=required");
    assert!(matches!(fault, Fault::NoTls { .. }), "{fault:?}");
}
