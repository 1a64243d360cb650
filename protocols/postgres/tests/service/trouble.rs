//! Deadlocks, collisions, locks and cancelled statements.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use barograph_postgres::{Connection, Fault, SqlState, Transaction};
use barograph_test_services::Service;

use super::stand::{client, on_worker, run, server, session, url};

/// Two sessions and a table with the rows 1 and 2.
async fn two(server: &Service) -> [Connection; 2] {
    let (mut one, two) = (session(server).await, session(server).await);
    run(&mut one, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)").await;
    [one, two]
}

/// What a query ends with.
async fn end(session: &mut Connection, sql: &str) -> Result<u64, Fault> {
    session.query(sql)?.finish().await
}

fn state(fault: &Fault) -> SqlState {
    fault.diagnostic().unwrap_or_else(|| panic!("{fault:?}")).state()
}

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
fn a_deadlock_ends_one_of_two_transactions() {
    let Some(server) = server() else { return };
    on_worker(async {
        let [mut one, mut two] = two(&server).await;
        run(&mut one, "BEGIN; UPDATE t SET n = 1 WHERE id = 1").await;
        run(&mut two, "BEGIN; UPDATE t SET n = 2 WHERE id = 2").await;
        let ends = both(
            end(&mut one, "UPDATE t SET n = 1 WHERE id = 2"),
            end(&mut two, "UPDATE t SET n = 2 WHERE id = 1"),
        );
        let (first, second) = ends.await;
        let failed = [first.is_err(), second.is_err()];
        assert_ne!(failed[0], failed[1], "{first:?} {second:?}");
        let fault = first.and(second).unwrap_err();
        assert_eq!(state(&fault), SqlState::DEADLOCK);
        let said = fault.diagnostic().unwrap();
        assert!(said.state().is_transient() && said.detail().is_some(), "{said}");
        let (failed, other) = if failed[0] { (one, two) } else { (two, one) };
        assert_eq!((failed.transaction(), other.transaction()), (Transaction::Failed, Transaction::Open));
    });
}

#[test]
fn a_serialization_failure_ends_the_second_transaction() {
    let Some(server) = server() else { return };
    on_worker(async {
        let [mut one, mut two] = two(&server).await;
        for session in [&mut one, &mut two] {
            run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t").await;
        }
        run(&mut one, "UPDATE t SET n = 1; COMMIT").await;
        let fault = end(&mut two, "UPDATE t SET n = 2").await.unwrap_err();
        assert_eq!(state(&fault), SqlState::SERIALIZATION_FAILURE);
        assert!(two.is_usable() && two.transaction() == Transaction::Failed);
        assert_eq!(run(&mut two, "ROLLBACK; UPDATE t SET n = 2").await, 2);
    });
}

#[test]
fn a_lock_timeout_has_its_sqlstate() {
    let Some(server) = server() else { return };
    on_worker(async {
        let [mut one, mut two] = two(&server).await;
        run(&mut one, "BEGIN; LOCK TABLE t").await;
        run(&mut two, "SET lock_timeout = '50ms'").await;
        let fault = end(&mut two, "SELECT * FROM t").await.unwrap_err();
        assert_eq!(state(&fault), SqlState::LOCK_NOT_AVAILABLE);
        run(&mut two, "SET lock_timeout = 0; SET statement_timeout = '50ms'").await;
        let fault = end(&mut two, "SELECT * FROM t").await.unwrap_err();
        assert_eq!(state(&fault), SqlState::QUERY_CANCELED);
    });
}

#[test]
fn a_statement_is_cancelled_from_another_connection() {
    let Some(server) = server() else { return };
    on_worker(async {
        let [mut one, mut two] = two(&server).await;
        let client = client(&url(&server, "postgres", ""));
        run(&mut one, "BEGIN; LOCK TABLE t").await;
        let key = two.cancel_key().unwrap();
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 't'::regclass";
        let cancel = async {
            let mut waiting = false;
            while !waiting {
                let mut replies = one.query(waits).unwrap();
                waiting = replies.row().await.unwrap().unwrap().get(0) == Ok("1");
                replies.finish().await.unwrap();
            }
            client.cancel(1, key).await.unwrap();
        };
        let (ended, ()) = both(end(&mut two, "SELECT * FROM t"), cancel).await;
        assert_eq!(state(&ended.unwrap_err()), SqlState::QUERY_CANCELED);
        assert!(two.is_usable());
    });
}

#[test]
fn a_call_that_is_given_up_leaves_the_connection_unusable() {
    let Some(server) = server() else { return };
    on_worker(async {
        let [mut one, mut two] = two(&server).await;
        run(&mut one, "BEGIN; LOCK TABLE t").await;
        {
            let mut waiting = pin!(end(&mut two, "SELECT * FROM t"));
            let pending = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
            assert!(pending, "the lock is held");
        }
        assert!(!two.is_usable());
        assert!(matches!(end(&mut two, "SELECT 1").await, Err(Fault::Unusable)));
        assert!(matches!(two.prepare("SELECT 1").await, Err(Fault::Unusable)));
        assert!(matches!(two.copy_in("COPY t FROM STDIN").await.err(), Some(Fault::Unusable)));
        assert!(matches!(two.batch().send().err(), Some(Fault::Unusable)));
        // One that was never polled has sent nothing.
        drop(one.batch());
        assert!(one.is_usable());
    });
}
