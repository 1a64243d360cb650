//! COPY in and out.

use barograph_postgres::{CallError, Fault, SqlState};

use super::stand::{on_worker, run, server, session};

const ROWS: u64 = 100_000;

/// Lines of rows in text form.
fn lines(rows: impl Iterator<Item = u64>) -> String {
    rows.map(|n| format!("{n}\trow number {n} of this table\n")).collect()
}

#[test]
fn a_hundred_thousand_rows_go_in_and_out() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        run(&mut session, "CREATE TABLE t (n bigint, text text)").await;
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        let all = lines(0..ROWS);
        // Pieces that end amid rows, small ones and one beyond all buffers.
        let (small, large) = all.as_bytes().split_at(300_001);
        for piece in small.chunks(997) {
            copy.write(piece).await.unwrap();
        }
        copy.write(large).await.unwrap();
        assert_eq!(copy.finish().await.unwrap(), ROWS);
        assert!(session.is_usable());
        let mut copy = session.copy_out("COPY (SELECT * FROM t ORDER BY n) TO STDOUT").await.unwrap();
        let mut back = Vec::new();
        while let Some(piece) = copy.next().await.unwrap() {
            back.extend_from_slice(piece);
        }
        assert!(copy.next().await.unwrap().is_none());
        assert_eq!(copy.finish().await.unwrap(), ROWS);
        assert!(back == all.as_bytes());
        // Binary both ways.
        run(&mut session, "CREATE TABLE u (LIKE t)").await;
        let mut copy = session.copy_out("COPY t TO STDOUT (FORMAT binary)").await.unwrap();
        back.clear();
        while let Some(piece) = copy.next().await.unwrap() {
            back.extend_from_slice(piece);
        }
        let mut copy = session.copy_in("COPY u FROM STDIN (FORMAT binary)").await.unwrap();
        copy.write(&back).await.unwrap();
        assert_eq!(copy.finish().await.unwrap(), ROWS);
        assert_eq!(run(&mut session, "SELECT * FROM t EXCEPT SELECT * FROM u").await, 0);
    });
}

#[test]
fn a_row_that_is_refused_ends_the_copy_and_not_the_connection() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        run(&mut session, "CREATE TABLE t (n bigint, text text)").await;
        // The last row is wrong.
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        copy.write(b"1\ta\nx\tb\n").await.unwrap();
        let fault = copy.finish().await.unwrap_err();
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"22P02"), "{fault:?}");
        assert_eq!(run(&mut session, "SELECT * FROM t").await, 0);
        // The first of very many is: it is told while they are sent, or at their end.
        let many = lines(0..ROWS).repeat(20);
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        copy.write(b"x\tb\n").await.unwrap();
        let written = copy.write(many.as_bytes()).await;
        let finished = copy.finish().await;
        let fault = match (written, finished) {
            (Err(fault), Err(Fault::Call(CallError::Copy))) | (Ok(()), Err(fault)) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"22P02"), "{fault:?}");
        assert_eq!(run(&mut session, "SELECT * FROM t").await, 0);
        // Given up in order, and dropped.
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        copy.write(b"1\ta\n").await.unwrap();
        copy.abort("the test wants no more").await.unwrap();
        assert_eq!(run(&mut session, "SELECT * FROM t").await, 0);
        let fault = session.copy_in("COPY nothing FROM STDIN").await.err().unwrap();
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"42P01"), "{fault:?}");
        let fault = session.copy_out("COPY nothing TO STDOUT").await.err().unwrap();
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"42P01"), "{fault:?}");
        let mut copy =
            session.copy_out("COPY (SELECT 1/(3-n) FROM generate_series(1, 9) n) TO STDOUT").await.unwrap();
        assert_eq!(copy.next().await.unwrap(), Some(&b"0\n"[..]));
        let fault = copy.finish().await.unwrap_err();
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"22012"), "{fault:?}");
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        copy.write(b"1\ta\n").await.unwrap();
        drop(copy);
        assert!(!session.is_usable());
    });
}
