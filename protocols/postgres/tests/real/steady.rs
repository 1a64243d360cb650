//! A statement allocates nothing once buffers are warm.

use std::io::Write as _;

use barograph_postgres::{Connection, Param, Reply, Statement, Timestamp};
use barograph_testkit::allocations;

use super::messages::{all, bound, complete, description, ready, row, welcome};
use super::on_worker;
use super::peer::{Peer, request};

const WARM_UP: u32 = 20;
const MEASURED: u32 = 1_000;

/// The counter works: a test that could not fail would prove nothing.
#[test]
fn an_allocation_is_counted() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations() - before, 1);
}

/// A transaction of two statements, in one round trip.
async fn transaction(session: &mut Connection, statement: Statement, n: u32) {
    let at = Timestamp::from_unix_us(i64::from(n));
    let params = [Param::Int(n.into()), Param::Text("a text"), Param::Timestamp(at), Param::Float(0.5)];
    let mut batch = session.batch();
    batch.execute(statement, &params).unwrap().execute(statement, &params).unwrap();
    let mut replies = batch.send().unwrap();
    let mut rows = 0;
    while let Some(reply) = replies.next().await.unwrap() {
        match reply {
            Reply::Row(row) => {
                assert_eq!((row.get::<i64>(0), row.get::<&str>(1)), (Ok(7), Ok("twelve bytes")));
                rows += 1;
            }
            Reply::Done(tag) => assert_eq!(tag.rows(), 3),
        }
    }
    assert_eq!(rows, 6);
}

#[test]
fn a_statement_allocates_nothing() {
    let value = 7_i64.to_be_bytes();
    let rows = all(&[
        row(&[&value, b"twelve bytes"]),
        row(&[&value, b"twelve bytes"]),
        row(&[&value, b"twelve bytes"]),
    ]);
    let group = all(&[bound(), rows, complete("SELECT 3")]);
    let answer = all(&[group.clone(), group, ready()]);
    let peer = Peer::doing(move |mut stream| {
        assert!(request(&mut stream, true));
        stream.write_all(&welcome()).unwrap();
        assert!(request(&mut stream, false));
        stream.write_all(&all(&[description(&[23, 25, 1184, 701], &[20, 25]), ready()])).unwrap();
        while request(&mut stream, false) {
            stream.write_all(&answer).unwrap();
        }
    });
    on_worker(async {
        let mut session = peer.session().await;
        let statement = session.prepare("SELECT ...").await.unwrap();
        for n in 0..WARM_UP {
            transaction(&mut session, statement, n).await;
        }
        let before = allocations();
        for n in 0..MEASURED {
            transaction(&mut session, statement, n).await;
        }
        assert_eq!(allocations() - before, 0);
    });
    peer.join();
}
