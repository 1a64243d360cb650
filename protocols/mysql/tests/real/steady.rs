//! A statement allocates nothing once buffers are warm.

use std::io::Write as _;

use barograph_mysql::{Connection, Param, Reply, Statement, Timestamp};
use barograph_testkit::allocations;

use super::messages::{answer, end, head, prepared, row, welcome};
use super::on_worker;
use super::peer::{Peer, message};

const WARM_UP: u32 = 20;
const MEASURED: u32 = 1_000;

/// The counter works: a test that could not fail would prove nothing.
#[test]
fn an_allocation_is_counted() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations() - before, 1);
}

async fn execution(session: &mut Connection, statement: Statement, n: u32) {
    let at = Timestamp::from_unix_us(i64::from(n)).unwrap();
    let params = [Param::Int(n.into()), Param::Text("a text"), Param::Timestamp(at), Param::Float(0.5)];
    let mut replies = session.start(statement, &params).unwrap();
    let mut rows = 0;
    while let Some(reply) = replies.next().await.unwrap() {
        match reply {
            Reply::Row(row) => {
                assert_eq!((row.get::<i64>(0), row.get::<&str>(1)), (Ok(7), Ok("twelve bytes")));
                rows += 1;
            }
            Reply::Done(done) => assert_eq!(done.rows, 3),
        }
    }
    assert_eq!(rows, 3);
}

#[test]
fn a_statement_allocates_nothing() {
    let of_three = row(&[&7_i64.to_le_bytes(), b"\x0ctwelve bytes"]);
    let bodies = [head(&[8, 253]), vec![of_three; 3], vec![end()]].concat();
    let peer = Peer::doing(move |mut stream| {
        let [greeting, login] = welcome();
        stream.write_all(&greeting).unwrap();
        assert!(message(&mut stream).is_some());
        stream.write_all(&login).unwrap();
        assert!(message(&mut stream).is_some());
        stream.write_all(&prepared(4, &[8, 253])).unwrap();
        let answer = answer(&bodies);
        while message(&mut stream).is_some() {
            stream.write_all(&answer).unwrap();
        }
    });
    on_worker(async {
        let mut session = peer.session().await;
        let statement = session.prepare("SELECT ...").await.unwrap();
        for n in 0..WARM_UP {
            execution(&mut session, statement, n).await;
        }
        let before = allocations();
        for n in 0..MEASURED {
            execution(&mut session, statement, n).await;
        }
        assert_eq!(allocations() - before, 0);
    });
    peer.join();
}
