//! LOAD DATA LOCAL INFILE.

use barograph_mysql::{ErrorCode, Fault, Flaw};

use super::stand::{code, end, on_worker, run, server, session, text};

const ROWS: u64 = 100_000;

const LOAD: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t";

/// Lines of rows in the form that the server expects.
fn lines(rows: impl Iterator<Item = u64>) -> String {
    rows.map(|n| format!("{n}\trow number {n} of this table\n")).collect()
}

#[test]
fn rows_go_in_by_bulk() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        run(&mut session, "CREATE TABLE t (n BIGINT PRIMARY KEY, words TEXT)").await;
        let mut load = session.load_data(LOAD).await.unwrap();
        let all = lines(0..ROWS);
        // Pieces that end amid rows, small ones and one beyond all buffers.
        let (small, large) = all.as_bytes().split_at(300_001);
        for piece in small.chunks(997) {
            load.write(piece).await.unwrap();
        }
        load.write(large).await.unwrap();
        let done = load.finish().await.unwrap();
        assert_eq!((done.rows, done.warnings), (ROWS, 0));
        assert!(session.is_usable());
        let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(n), ' ', SUM(words = CONCAT('row number ', n, ' of this table')))
                   FROM t";
        assert_eq!(text(&mut session, sum).await, "100000 4999950000 100000");
        // None at all.
        assert_eq!(session.load_data(LOAD).await.unwrap().finish().await.unwrap().rows, 0);
        // A key that is there, and a value that is no number.
        let mut load = session.load_data(LOAD).await.unwrap();
        load.write(b"1\ttwice\n100000\tgood\nx\tbad\n").await.unwrap();
        let done = load.finish().await.unwrap();
        assert_eq!((done.rows, done.warnings), (1, 3));
        // A trigger refuses the first of very many rows: the error comes at their end.
        let trigger = "TRUNCATE t; CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW
                       BEGIN IF NEW.n = 7 THEN SIGNAL SQLSTATE '45000'; END IF; END";
        run(&mut session, trigger).await;
        let many = lines(7..ROWS).repeat(5);
        let mut load = session.load_data(LOAD).await.unwrap();
        load.write(many.as_bytes()).await.unwrap();
        let fault = load.finish().await.unwrap_err();
        assert_eq!(code(&fault), ErrorCode(1644), "{fault:?}");
        assert!(matches!(fault, Fault::Server(_)));
        assert_eq!(text(&mut session, "SELECT COUNT(*) FROM t").await, "0");
        let fault = session.load_data("LOAD DATA LOCAL INFILE 'x' INTO TABLE nothing").await.err().unwrap();
        assert_eq!(code(&fault), ErrorCode::NO_SUCH_TABLE, "{fault:?}");
        // A file is not given to a query.
        let mut other = super::stand::session(&server).await;
        let fault = end(&mut other, "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t").await.unwrap_err();
        assert!(matches!(fault, Fault::Flawed(Flaw::Order { first: 0xfb, .. })), "{fault:?}");
        // Dropped amid the rows.
        let mut load = session.load_data(LOAD).await.unwrap();
        load.write(b"1\ta\n").await.unwrap();
        drop(load);
        assert!(!session.is_usable());
        drop((session, other));
        let mut session = super::stand::session(&server).await;
        assert_eq!(text(&mut session, "SELECT COUNT(*) FROM t").await, "0");
    });
}
