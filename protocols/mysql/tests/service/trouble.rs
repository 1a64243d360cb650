//! Deadlocks, locks and cancelled statements.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use barograph_mysql::{Connection, ErrorCode, Fault, Param};
use barograph_test_services::Service;

use super::stand::{client, code, end, on_worker, run, server, session, text, url};

/// The number of transactions that wait for a lock. `INNODB_TRX` would not do: the server does not
/// renew it while it is read more often than every 0.1 s.
const WAITS: &str = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
     WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'";

/// Both to their ends, side by side.
async fn both<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut two) = (pin!(one), pin!(two));
    let (mut a, mut b) = (None, None);
    poll_fn(move |cx| {
        if a.is_none()
            && let Poll::Ready(end) = one.as_mut().poll(cx)
        {
            a = Some(end);
        }
        if b.is_none()
            && let Poll::Ready(end) = two.as_mut().poll(cx)
        {
            b = Some(end);
        }
        match (a.take(), b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (left, right) => {
                (a, b) = (left, right);
                Poll::Pending
            }
        }
    })
    .await
}

#[test]
fn sessions_that_wait_for_each_other_end() {
    let Some(server) = server() else { return };
    on_worker(async {
        let (mut one, mut two) = (session(&server).await, session(&server).await);
        run(&mut one, "CREATE TABLE t (id INT PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0), (2, 0)")
            .await;
        a_deadlock_ends_one_of_two_transactions(&mut one, &mut two).await;
        a_deadlock_at_the_lock_of_auto_increment_has_its_own_code(&mut one, &mut two).await;
        a_lock_that_does_not_come_has_its_code(&mut one, &mut two).await;
        a_statement_is_cancelled(&server, &mut one, &mut two).await;
        a_call_that_is_given_up_leaves_the_connection_unusable(one, two).await;
    });
}

async fn a_deadlock_ends_one_of_two_transactions(one: &mut Connection, two: &mut Connection) {
    run(one, "BEGIN; UPDATE t SET n = 1 WHERE id = 1").await;
    run(two, "BEGIN; UPDATE t SET n = 2 WHERE id = 2").await;
    let update = "UPDATE t SET n = n + 1 WHERE id = ?";
    let (first, second) = (one.prepare(update).await.unwrap(), two.prepare(update).await.unwrap());
    let (id_two, id_one) = ([Param::Int(2)], [Param::Int(1)]);
    let (first, second) = both(one.execute(first, &id_two), two.execute(second, &id_one)).await;
    assert_ne!(first.is_err(), second.is_err(), "{first:?} {second:?}");
    let fault = first.and(second).unwrap_err();
    assert_eq!((code(&fault), fault.diagnostic().unwrap().state()), (ErrorCode::DEADLOCK, *b"40001"));
    assert!(one.is_usable() && two.is_usable());
    run(one, "COMMIT").await;
    run(two, "COMMIT").await;
}

async fn a_deadlock_at_the_lock_of_auto_increment_has_its_own_code(
    one: &mut Connection,
    two: &mut Connection,
) {
    run(one, "CREATE TABLE named (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) UNIQUE)").await;
    run(one, "BEGIN; INSERT INTO named (name) VALUES ('x')").await;
    // The server undoes the transaction that has changed less.
    run(two, "BEGIN; UPDATE t SET n = n + 10").await;
    // Holds the lock of AUTO_INCREMENT while it waits for the row.
    let holder = end(two, "INSERT INTO named (name) SELECT 'x'");
    let waiter = async {
        while text(one, WAITS).await != "1" {}
        end(one, "INSERT INTO named (name) SELECT 'y'").await
    };
    let (held, waited) = both(holder, waiter).await;
    assert_eq!(code(&waited.unwrap_err()), ErrorCode::NO_AUTO_INCREMENT);
    assert_eq!(held.unwrap(), 1);
    run(two, "COMMIT").await;
    assert_eq!(text(one, "SELECT COUNT(*) FROM named").await, "1");
}

async fn a_lock_that_does_not_come_has_its_code(one: &mut Connection, two: &mut Connection) {
    run(one, "BEGIN; UPDATE t SET n = 1 WHERE id = 1").await;
    run(two, "SET innodb_lock_wait_timeout = 1; BEGIN; INSERT INTO t VALUES (3, 0)").await;
    let fault = end(two, "UPDATE t SET n = 2 WHERE id = 1").await.unwrap_err();
    assert_eq!(code(&fault), ErrorCode::LOCK_WAIT_TIMEOUT, "{fault:?}");
    // The statement alone was undone.
    run(two, "COMMIT; SET innodb_lock_wait_timeout = 600").await;
    run(one, "COMMIT").await;
    assert_eq!(text(one, "SELECT COUNT(*) FROM t").await, "3");
}

async fn a_statement_is_cancelled(server: &Service, one: &mut Connection, two: &mut Connection) {
    let client = client(&url(server, "auction", ""));
    run(one, "BEGIN; UPDATE t SET n = 1").await;
    let session = two.id();
    let cancel = async {
        while text(one, WAITS).await != "1" {}
        client.cancel(1, session).await.unwrap();
    };
    let (ended, ()) = both(end(two, "UPDATE t SET n = 2"), cancel).await;
    assert_eq!(code(&ended.unwrap_err()), ErrorCode::QUERY_INTERRUPTED);
    assert!(two.is_usable());
    run(one, "ROLLBACK").await;
}

async fn a_call_that_is_given_up_leaves_the_connection_unusable(mut one: Connection, mut two: Connection) {
    run(&mut one, "BEGIN; UPDATE t SET n = 1").await;
    let select = two.prepare("SELECT 1").await.unwrap();
    {
        let mut waiting = pin!(end(&mut two, "UPDATE t SET n = 2"));
        let pending = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
        assert!(pending, "the lock is held");
    }
    assert!(!two.is_usable());
    assert!(matches!(end(&mut two, "SELECT 1").await, Err(Fault::Unusable)));
    assert!(matches!(two.prepare("SELECT 1").await, Err(Fault::Unusable)));
    assert!(matches!(two.execute(select, &[]).await, Err(Fault::Unusable)));
    assert!(matches!(two.reset().await, Err(Fault::Unusable)));
    let load = two.load_data("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").await;
    assert!(matches!(load.err(), Some(Fault::Unusable)));
}
