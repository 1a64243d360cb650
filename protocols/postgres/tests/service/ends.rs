//! A server that goes away.

use barograph_model::Outcome;
use barograph_postgres::{Fault, SqlState};

use super::stand::{client, on_worker, refused, run, server, session, url};

#[test]
fn a_session_that_the_server_ends_has_the_reason() {
    let Some(server) = server() else { return };
    on_worker(async {
        let (mut one, mut other) = (session(&server).await, session(&server).await);
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
        assert_eq!(run(&mut one, end).await, 1);
        // Whether the reason or the end comes first, and whether writing still goes: the reason is in the fault.
        let fault = other.query("SELECT 1").unwrap().finish().await.unwrap_err();
        assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState::ADMIN_SHUTDOWN);
        assert_eq!(
            (fault.to_string().as_str(), fault.outcome()),
            ("the server ended the session", Outcome::Broken)
        );
        assert!(!other.is_usable());
        assert!(matches!(other.query("SELECT 1").err(), Some(Fault::Unusable)));
        // Idle in a transaction for too long: the reason waits in the connection.
        let mut idle = session(&server).await;
        run(&mut idle, "SET idle_in_transaction_session_timeout = 1; BEGIN").await;
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
        let mut left = String::new();
        while left != "1" {
            let mut replies = one.query(sessions).unwrap();
            left = replies.row().await.unwrap().unwrap().get::<&str>(0).unwrap().to_owned();
            replies.finish().await.unwrap();
        }
        // The reason may have been read before the query.
        let fault = match idle.query("SELECT 1") {
            Ok(replies) => replies.finish().await.unwrap_err(),
            Err(fault) => fault,
        };
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"25P03"), "{fault:?}");
    });
}

#[test]
fn a_copy_whose_session_is_ended_ends() {
    let Some(server) = server() else { return };
    on_worker(async {
        let (mut one, mut other) = (session(&server).await, session(&server).await);
        run(&mut one, "CREATE TABLE t (n int, text text)").await;
        let mut copy = other.copy_in("COPY t FROM STDIN").await.unwrap();
        let rows = "7\tseven\n".repeat(20_000);
        copy.write(rows.as_bytes()).await.unwrap();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'";
        assert_eq!(run(&mut one, end).await, 1);
        let fault = loop {
            if let Err(fault) = copy.write(rows.as_bytes()).await {
                break fault;
            }
        };
        // A reset may overtake the reason.
        assert!(matches!(fault, Fault::Ended(_) | Fault::Broken(_)), "{fault:?}");
        drop(copy);
        assert!(!other.is_usable());
        assert_eq!(run(&mut one, "SELECT * FROM t").await, 0);
    });
}

#[test]
fn a_server_that_is_killed_breaks_its_connections() {
    let Some(mut server) = server() else { return };
    let address = url(&server, "postgres", "");
    on_worker(async {
        let (mut idle, mut busy) = (session(&server).await, session(&server).await);
        run(&mut idle, "CREATE TABLE t (n int)").await;
        run(&mut idle, "BEGIN; LOCK TABLE t").await;
        let mut waiting = std::pin::pin!(async { busy.query("SELECT * FROM t").unwrap().finish().await });
        let pending =
            std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
        assert!(pending, "the lock is held");
        server.kill();
        let fault = waiting.await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        assert_eq!(fault.outcome(), Outcome::Broken);
        let fault = idle.query("SELECT 1").unwrap().finish().await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        let fault = refused(&address).await;
        assert!(matches!(fault, Fault::Connect(_)), "{fault:?}");
        server.restart();
        let mut session = client(&address).connect(0).await.unwrap();
        assert_eq!(run(&mut session, "SELECT 1").await, 1);
    });
}
