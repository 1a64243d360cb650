//! Prepared statements, batches and simple queries.

use barograph_postgres::{
    CallError, Connection, Fault, Param, Reply, SqlState, Statement, Timestamp, Transaction,
};

use super::stand::{on_worker, run, server, session};

/// A session with an empty table `account`.
async fn with_table(server: &barograph_test_services::Service) -> Connection {
    let mut session = session(server).await;
    run(&mut session, "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)").await;
    session
}

/// The number in the only row of a statement.
async fn number(session: &mut Connection, statement: Statement, params: &[Param<'_>]) -> i64 {
    let mut batch = session.batch();
    batch.execute(statement, params).unwrap();
    let mut replies = batch.send().unwrap();
    let number = replies.row().await.unwrap().expect("a row").get(0).unwrap();
    replies.finish().await.unwrap();
    number
}

#[test]
fn values_of_all_types_go_both_ways() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        let sql = "SELECT $1::int2, $2::int4, $3::int8, $4::float8, $5::bool, $6::text, $7::varchar, $8::bytea, \
                   $9::timestamptz, $10::numeric, $11::int4, $12::date, extract(epoch from $9)::int8";
        let statement = session.prepare(sql).await.unwrap();
        let params = [
            Param::Int(-7),
            Param::Int(70_000),
            Param::Int(i64::MIN),
            Param::Float(0.1),
            Param::Bool(true),
            Param::Text("grüße"),
            Param::Text(""),
            Param::Bytes(b"\0\xff"),
            Param::Timestamp(Timestamp::from_unix_us(1_700_000_000_000_000)),
            Param::Text("12345678901234567890.50"),
            Param::Null,
            Param::Text("2024-02-29"),
        ];
        for _ in 0..2 {
            let mut batch = session.batch();
            batch.execute(statement, &params).unwrap();
            let mut replies = batch.send().unwrap();
            let row = replies.row().await.unwrap().expect("a row");
            assert_eq!(row.len(), 13);
            assert_eq!(row.get::<i16>(0), Ok(-7));
            assert_eq!(row.get::<i32>(1), Ok(70_000));
            assert_eq!(row.get::<i64>(2), Ok(i64::MIN));
            assert_eq!(row.get::<f64>(3), Ok(0.1));
            assert_eq!(row.get::<bool>(4), Ok(true));
            assert_eq!(row.get::<&str>(5), Ok("grüße"));
            assert_eq!(row.get::<&str>(6), Ok(""));
            assert_eq!(row.get::<&[u8]>(7), Ok(&b"\0\xff"[..]));
            assert_eq!(row.get::<Timestamp>(8).map(Timestamp::unix_us), Ok(1_700_000_000_000_000));
            assert_eq!(row.get::<&str>(9), Ok("12345678901234567890.50"));
            assert_eq!(row.get_optional::<i32>(10), Ok(None));
            assert_eq!(row.get::<&str>(11), Ok("2024-02-29"));
            assert_eq!(row.get::<i64>(12), Ok(1_700_000_000), "the server reads the same instant");
            assert_eq!(replies.finish().await.unwrap(), 1);
        }
        let names: Vec<&str> =
            session.columns(statement).unwrap().iter().map(|column| &*column.name).collect();
        assert_eq!((names[0], names[12]), ("int2", "extract"));
    });
}

#[test]
fn a_transaction_is_one_round_trip_or_many() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = with_table(&server).await;
        let list = [
            "BEGIN",
            "INSERT INTO account VALUES ($1, $2)",
            "UPDATE account SET balance = balance + $1",
            "COMMIT",
            "ROLLBACK",
            "SELECT count(*) FROM account",
        ];
        let all = session.prepare_all(&list).await.unwrap();
        let [begin, insert, update, commit, rollback, count] = all[..] else { panic!("six statements") };
        // One round trip.
        let mut batch = session.batch();
        batch.execute(begin, &[]).unwrap();
        for id in 0..3 {
            batch.execute(insert, &[Param::Int(id), Param::Int(100)]).unwrap();
        }
        batch.execute(update, &[Param::Int(5)]).unwrap().execute(commit, &[]).unwrap();
        let mut replies = batch.send().unwrap();
        let mut affected = Vec::new();
        while let Some(reply) = replies.next().await.unwrap() {
            let Reply::Done(tag) = reply else { panic!("no rows") };
            affected.push(tag.rows());
        }
        assert_eq!(affected, [0, 1, 1, 1, 3, 0]);
        assert_eq!(session.transaction(), Transaction::Idle);
        // Many.
        session.execute(begin, &[]).await.unwrap();
        assert_eq!(session.transaction(), Transaction::Open);
        assert_eq!(session.execute(insert, &[Param::Int(7), Param::Int(1)]).await.unwrap(), 1);
        assert_eq!(number(&mut session, count, &[]).await, 4);
        session.execute(rollback, &[]).await.unwrap();
        assert_eq!((session.transaction(), number(&mut session, count, &[]).await), (Transaction::Idle, 3));
        // One that fails takes nothing but its end, and a COMMIT that rolls back says so.
        session.execute(begin, &[]).await.unwrap();
        let twice = session.execute(insert, &[Param::Int(0), Param::Int(1)]).await.unwrap_err();
        assert_eq!(twice.diagnostic().unwrap().state(), SqlState::UNIQUE_VIOLATION, "{twice:?}");
        assert_eq!(session.transaction(), Transaction::Failed);
        let mut batch = session.batch();
        batch.execute(commit, &[]).unwrap();
        let mut replies = batch.send().unwrap();
        let Some(Reply::Done(tag)) = replies.next().await.unwrap() else { panic!("no rows") };
        assert!(tag.is("ROLLBACK"), "{tag:?}");
        assert!(replies.next().await.unwrap().is_none());
        assert_eq!(session.transaction(), Transaction::Idle);
    });
}

#[test]
fn a_failure_ends_its_group_and_no_other() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = with_table(&server).await;
        let list = ["INSERT INTO account VALUES ($1, 0)", "SELECT count(*) FROM account", "SELECT 1/$1::int"];
        let all = session.prepare_all(&list).await.unwrap();
        let mut batch = session.batch();
        batch.execute(all[0], &[Param::Int(1)]).unwrap().sync();
        // The first of this group goes with the second.
        batch.execute(all[0], &[Param::Int(2)]).unwrap();
        batch.execute(all[2], &[Param::Int(0)]).unwrap();
        batch.execute(all[0], &[Param::Int(3)]).unwrap().sync();
        batch.execute(all[1], &[]).unwrap();
        let mut replies = batch.send().unwrap();
        assert!(matches!(replies.next().await.unwrap(), Some(Reply::Done(tag)) if tag.rows() == 1));
        assert!(matches!(replies.next().await.unwrap(), Some(Reply::Done(tag)) if tag.rows() == 1));
        let fault = replies.next().await.unwrap_err();
        assert_eq!(fault.to_string(), "division by zero (22012)");
        let row = replies.row().await.unwrap().expect("the count");
        assert_eq!(row.get::<i64>(0), Ok(1));
        assert!(replies.row().await.unwrap().is_none());
        assert!(replies.next().await.unwrap().is_none());
        assert!(session.is_usable());
        // `finish` reads all groups and tells the first error.
        let mut batch = session.batch();
        batch.execute(all[2], &[Param::Int(0)]).unwrap().sync();
        batch.execute(all[0], &[Param::Int(9)]).unwrap();
        assert!(matches!(batch.send().unwrap().finish().await, Err(Fault::Server(_))));
        assert_eq!(number(&mut session, all[1], &[]).await, 2);
    });
}

#[test]
fn an_unsent_batch_keeps_its_statements_and_a_sent_one_does_not() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = with_table(&server).await;
        let insert = session.prepare("INSERT INTO account VALUES ($1, 0)").await.unwrap();
        // What was sent before is none of its statements.
        assert_eq!(session.unsent_batch().send().unwrap().finish().await.unwrap(), 0);
        session.batch().execute(insert, &[Param::Int(1)]).unwrap();
        session.unsent_batch().execute(insert, &[Param::Int(2)]).unwrap();
        assert_eq!(session.unsent_batch().send().unwrap().finish().await.unwrap(), 2);
        assert_eq!(session.unsent_batch().send().unwrap().finish().await.unwrap(), 0);
        session.batch().execute(insert, &[Param::Int(1)]).unwrap();
        // Another one takes its place.
        session.batch().execute(insert, &[Param::Int(3)]).unwrap();
        assert_eq!(session.unsent_batch().send().unwrap().finish().await.unwrap(), 1);
    });
}

#[test]
fn a_batch_larger_than_all_buffers_is_answered_while_it_is_sent() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        let echo = session.prepare("SELECT $1::text, $2::int").await.unwrap();
        let text = "x".repeat(10_000);
        let mut batch = session.batch();
        for n in 0..2_000 {
            batch.execute(echo, &[Param::Text(&text), Param::Int(n)]).unwrap();
        }
        let mut replies = batch.send().unwrap();
        let mut rows = 0;
        while let Some(reply) = replies.next().await.unwrap() {
            let Reply::Row(row) = reply else { continue };
            assert_eq!((row.get::<&str>(0).unwrap().len(), row.get::<i32>(1)), (10_000, Ok(rows)));
            rows += 1;
        }
        assert_eq!(rows, 2_000);
        assert!(session.is_usable());
    });
}

#[test]
fn a_wrong_call_is_refused_before_anything_is_sent() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        let one = session.prepare("SELECT $1::int + 1").await.unwrap();
        let mut other = super::stand::session(&server).await;
        let why = |fault: Fault| match fault {
            Fault::Call(why) => why.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            why(session.execute(one, &[]).await.unwrap_err()),
            "statement 0 has 1 parameters, and 0 values are given"
        );
        assert_eq!(
            why(session.execute(one, &[Param::Text("1")]).await.unwrap_err()),
            "the value of parameter $1 of statement 0 is none of integer"
        );
        assert_eq!(
            why(session.execute(one, &[Param::Int(1 << 40)]).await.unwrap_err()),
            "the value of parameter $1 of statement 0 is none of integer"
        );
        assert_eq!(
            why(other.execute(one, &[Param::Int(1)]).await.unwrap_err()),
            "statement 0 is not prepared on this connection"
        );
        assert!(matches!(session.query("SELECT 1\0").err(), Some(Fault::Call(CallError::Zero))));
        assert_eq!(number(&mut session, one, &[Param::Int(1)]).await, 2);
    });
}

#[test]
fn statements_that_cannot_be_prepared_leave_the_connection_usable() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        let fault = session.prepare_all(&["SELECT 1", "SELECT nothing", "SELECT 2"]).await.unwrap_err();
        let said = fault.diagnostic().expect("an error of the server");
        assert_eq!(said.state(), SqlState(*b"42703"), "{said}");
        let one = session.prepare("SELECT 1::int8").await.unwrap();
        assert_eq!(number(&mut session, one, &[]).await, 1);
    });
}

#[test]
fn a_simple_query_makes_tables_and_gives_rows_as_text() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        let sql = "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2); SELECT n, n * 2 FROM t ORDER BY n; DROP TABLE t";
        let mut replies = session.query(sql).unwrap();
        let (mut rows, mut done) = (Vec::new(), Vec::new());
        while let Some(reply) = replies.next().await.unwrap() {
            match reply {
                Reply::Row(row) => rows.push([0, 1].map(|n| row.get::<&str>(n).unwrap().to_owned())),
                Reply::Done(tag) => done.push(tag.rows()),
            }
        }
        assert_eq!(rows, [["1", "2"], ["2", "4"]]);
        assert_eq!(done, [0, 2, 2, 0]);
        let fault = session.query("SELECT 1; SELECT nothing; SELECT 2").unwrap().finish().await.unwrap_err();
        assert!(matches!(fault, Fault::Server(_)), "{fault:?}");
        assert_eq!(run(&mut session, "").await, 0);
        // A notice is kept aside.
        run(&mut session, "DROP TABLE IF EXISTS t").await;
        let notices: Vec<String> = session.notices().map(|notice| notice.to_string()).collect();
        assert_eq!(notices, ["table \"t\" does not exist, skipping (00000)"]);
        // COPY has calls of its own; sent as a query it would wait for data.
        run(&mut session, "CREATE TABLE t (n int)").await;
        let fault = session.query("COPY t FROM STDIN").unwrap().finish().await.unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the answer is not PostgreSQL's: a message `G` comes in answer to a query"
        );
        assert!(!session.is_usable());
        assert!(matches!(session.query("SELECT 1").err(), Some(Fault::Unusable)));
    });
}
