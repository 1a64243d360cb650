//! Statements, their values and their ends.

use barograph_mysql::{CallError, Connection, ErrorCode, Fault, Flaw, Param, Reply, SqlType, Timestamp};
use barograph_test_services::Service;

use super::stand::{client, code, end, on_worker, run, server, session, text, url};

#[test]
fn statements_give_what_they_were_given() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut session = session(&server).await;
        values_come_back(&mut session).await;
        ends_say_what_was_done(&mut session).await;
        transactions_are_seen(&mut session).await;
        a_call_has_several_results(&mut session).await;
        queries_have_several_statements(&mut session).await;
        failures_leave_the_connection_usable(&mut session).await;
        a_reset_forgets_statements(&mut session).await;
        messages_of_16_mib_and_more_go_both_ways(&server, &mut session).await;
    });
}

async fn values_come_back(session: &mut Connection) {
    run(
        session,
        "CREATE TABLE kinds (id INT PRIMARY KEY, tiny TINYINT, small SMALLINT UNSIGNED, medium MEDIUMINT,
         big BIGINT, most BIGINT UNSIGNED, simple FLOAT, twice DOUBLE, money DECIMAL(12,2), words VARCHAR(100),
         long_words LONGTEXT, raw VARBINARY(10), day DATE, at DATETIME(6), nothing INT, hours TIME) CHARACTER SET utf8mb4",
    )
    .await;
    let insert = session.prepare("INSERT INTO kinds VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)").await.unwrap();
    let at = Timestamp::from_unix_us(1_700_000_000_123_456).unwrap();
    let params = [
        Param::Int(-7),
        Param::Int(-128),
        Param::Int(65_535),
        Param::Int(-8_388_608),
        Param::Int(i64::MIN),
        Param::Text("18446744073709551615"),
        Param::Float(0.5),
        Param::Float(-1e300),
        Param::Text("-1234567890.12"),
        Param::Text("naïve 🦀"),
        Param::Text(""),
        Param::Bytes(b"\0\xff"),
        Param::Timestamp(at),
        Param::Timestamp(at),
        Param::Null,
        Param::Text("-12:34:56"),
    ];
    assert_eq!(session.execute(insert, &params).await.unwrap(), 1);
    let select = session.prepare("SELECT * FROM kinds WHERE id = ?").await.unwrap();
    let mut replies = session.start(select, &[Param::Int(-7)]).unwrap();
    let row = replies.row().await.unwrap().unwrap();
    assert_eq!(row.len(), 16);
    assert_eq!([0, 1, 2, 3].map(|n| row.get::<i32>(n).unwrap()), [-7, -128, 65_535, -8_388_608]);
    assert_eq!((row.get::<i64>(4), row.get::<u64>(5)), (Ok(i64::MIN), Ok(u64::MAX)));
    assert_eq!((row.get::<f64>(6), row.get::<f64>(7)), (Ok(0.5), Ok(-1e300)));
    assert_eq!([8, 9, 10].map(|n| row.get::<&str>(n).unwrap()), ["-1234567890.12", "naïve 🦀", ""]);
    assert_eq!(
        (row.kind(8), row.kind(9), row.kind(11)),
        (Some(SqlType::Decimal), Some(SqlType::Text), Some(SqlType::Bytes))
    );
    assert_eq!(row.get::<&[u8]>(11), Ok(&b"\0\xff"[..]));
    assert_eq!(row.get::<Timestamp>(12).unwrap().unix_us(), 1_699_920_000_000_000);
    assert_eq!(row.get::<Timestamp>(13), Ok(at));
    assert_eq!(row.get_optional::<i32>(14), Ok(None));
    assert_eq!(row.bytes(15).map(<[u8]>::len), Some(8));
    assert!(replies.row().await.unwrap().is_none());
    assert!(replies.next().await.unwrap().is_none());
    // The types are those of the execution, not those of the preparation.
    run(session, "ALTER TABLE kinds MODIFY tiny BIGINT").await;
    let mut replies = session.start(select, &[Param::Int(-7)]).unwrap();
    let row = replies.row().await.unwrap().unwrap();
    assert_eq!((row.kind(1).unwrap().to_string().as_str(), row.get::<i64>(1)), ("bigint", Ok(-128)));
    replies.finish().await.unwrap();
}

async fn ends_say_what_was_done(session: &mut Connection) {
    run(session, "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, n INT)").await;
    let insert = session.prepare("INSERT INTO counted (n) VALUES (?), (?)").await.unwrap();
    let mut replies = session.start(insert, &[Param::Int(1), Param::Int(2)]).unwrap();
    let Some(Reply::Done(done)) = replies.next().await.unwrap() else { panic!("no rows") };
    assert_eq!((done.rows, done.insert_id, done.warnings), (2, 1, 0));
    assert!(replies.next().await.unwrap().is_none());
    // Found, though nothing changes.
    assert_eq!(run(session, "UPDATE counted SET n = n WHERE n > 0").await, 2);
    let select = session.prepare("SELECT n, 1/0 FROM counted ORDER BY n").await.unwrap();
    let mut replies = session.start(select, &[]).unwrap();
    let mut values = Vec::new();
    let done = loop {
        match replies.next().await.unwrap().unwrap() {
            Reply::Row(row) => values.push((row.get::<i32>(0).unwrap(), row.bytes(1).is_none())),
            Reply::Done(done) => break done,
        }
    };
    assert_eq!(values, [(1, true), (2, true)]);
    assert_eq!((done.rows, done.warnings), (2, 2));
    replies.finish().await.unwrap();
}

async fn transactions_are_seen(session: &mut Connection) {
    run(session, "BEGIN").await;
    assert!(session.in_transaction());
    run(session, "UPDATE counted SET n = 7").await;
    let rollback = session.prepare("ROLLBACK").await.unwrap();
    session.execute(rollback, &[]).await.unwrap();
    assert!(!session.in_transaction());
    assert_eq!(text(session, "SELECT SUM(n) FROM counted").await, "3");
}

async fn a_call_has_several_results(session: &mut Connection) {
    run(
        session,
        "CREATE PROCEDURE two(IN given INT) BEGIN
           SELECT given + 1; SELECT given, given UNION SELECT given, given + 1; UPDATE counted SET n = n;
         END",
    )
    .await;
    let call = session.prepare("CALL two(?)").await.unwrap();
    let mut replies = session.start(call, &[Param::Int(5)]).unwrap();
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    while let Some(reply) = replies.next().await.unwrap() {
        match reply {
            Reply::Row(row) => {
                rows.push((0..row.len()).map(|n| row.get::<i64>(n).unwrap()).collect::<Vec<_>>())
            }
            Reply::Done(done) => ends.push(done.rows),
        }
    }
    assert_eq!(rows, [vec![6], vec![5, 5], vec![5, 6]]);
    assert_eq!(ends, [1, 2, 2]);
    assert!(session.is_usable());
}

async fn queries_have_several_statements(session: &mut Connection) {
    let sql = "CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (NULL); SELECT n, n * 2 FROM t ORDER BY n DESC; DROP TABLE t";
    let mut replies = session.query(sql).unwrap();
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    while let Some(reply) = replies.next().await.unwrap() {
        match reply {
            Reply::Row(row) => {
                rows.push([0, 1].map(|n| row.get_optional::<&str>(n).unwrap().map(str::to_owned)));
            }
            Reply::Done(done) => ends.push(done.rows),
        }
    }
    assert_eq!(rows, [[Some("1".to_owned()), Some("2".to_owned())], [None, None]]);
    assert_eq!(ends, [0, 2, 2, 0]);
    // An error ends all of them.
    let fault = end(session, "SELECT 1; SELECT nothing; SELECT 2").await.unwrap_err();
    assert_eq!(code(&fault), ErrorCode(1054), "{fault:?}");
    assert!(fault.to_string().ends_with(" (1054, 42S22)"), "{fault}");
    assert_eq!(text(session, "SELECT 'on'").await, "on");
}

async fn failures_leave_the_connection_usable(session: &mut Connection) {
    let fault = session.prepare("SELECT nothing").await.unwrap_err();
    assert_eq!(code(&fault), ErrorCode(1054), "{fault:?}");
    let insert = session.prepare("INSERT INTO kinds (id) VALUES (?)").await.unwrap();
    let fault = session.execute(insert, &[Param::Int(-7)]).await.unwrap_err();
    assert_eq!(code(&fault), ErrorCode::DUPLICATE_KEY, "{fault:?}");
    assert_eq!(session.execute(insert, &[Param::Int(8)]).await.unwrap(), 1);
    assert!(session.is_usable());
}

async fn a_reset_forgets_statements(session: &mut Connection) {
    let select = session.prepare("SELECT ?").await.unwrap();
    run(session, "SET @mine = 7; BEGIN; UPDATE counted SET n = 9").await;
    session.reset().await.unwrap();
    assert!(!session.in_transaction());
    assert_eq!(text(session, "SELECT @mine IS NULL").await, "1");
    assert_eq!(text(session, "SELECT SUM(n) FROM counted").await, "3");
    let fault = session.execute(select, &[Param::Int(1)]).await.unwrap_err();
    assert!(matches!(fault, Fault::Call(CallError::Statement(_))), "{fault:?}");
    assert_eq!(text(session, "SELECT @@character_set_client").await, "utf8mb4");
}

async fn messages_of_16_mib_and_more_go_both_ways(server: &Service, session: &mut Connection) {
    run(session, "SET GLOBAL max_allowed_packet = 67108864").await;
    let mut session = client(&url(server, "auction", "")).connect(0).await.unwrap();
    let echo = session.prepare("SELECT ?, LENGTH(?)").await.unwrap();
    // The payload of a row is 14 bytes longer, and that of an execution 37: with one of these both are full packets.
    for length in [(1 << 24) - 40, (1 << 24) - 15, 1 << 24, 20 << 20] {
        let text = "0123456789abcdef".repeat(length / 16 + 1);
        let text = &text[..length];
        let mut replies = session.start(echo, &[Param::Text(text), Param::Text("x")]).unwrap();
        let row = replies.row().await.unwrap().unwrap();
        assert!(row.get::<&str>(0).unwrap() == text, "{length}");
        assert_eq!(row.get::<i64>(1), Ok(1));
        replies.finish().await.unwrap();
        assert!(session.is_usable());
    }
    // A row above the limit of this client.
    let fault = end(&mut session, "SELECT REPEAT('x', 60000000), REPEAT('x', 20000000)").await.unwrap_err();
    assert!(matches!(fault, Fault::Flawed(Flaw::Length(_))), "{fault:?}");
    assert!(!session.is_usable());
}
