//! A server that goes away.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use barograph_model::Outcome;
use barograph_mysql::{ErrorCode, Fault};

use super::stand::{client, code, end, on_worker, refused, run, server, session, text, url};

#[test]
fn a_session_ends_with_its_server() {
    let Some(mut server) = server() else { return };
    let address = url(&server, "auction", "");
    on_worker(async {
        let (mut one, mut other) = (session(&server).await, session(&server).await);
        run(&mut one, &format!("KILL CONNECTION {}", other.id())).await;
        // Whether the reason or the end comes first, and whether writing still goes.
        let fault = end(&mut other, "SELECT 1").await.unwrap_err();
        assert!(matches!(fault, Fault::Ended(_) | Fault::Broken(_)), "{fault:?}");
        assert_eq!(fault.outcome(), Outcome::Broken);
        assert!(fault.source().is_some(), "{fault:?}");
        if let Fault::Ended(said) = &fault {
            assert_eq!(said.code(), ErrorCode::CONNECTION_KILLED);
        }
        assert!(!other.is_usable());
        // Its transaction is over, too.
        run(&mut one, "CREATE TABLE t (n INT); BEGIN; INSERT INTO t VALUES (1)").await;
        let fault = end(&mut one, "KILL CONNECTION_ID()").await.unwrap_err();
        assert!(matches!(fault, Fault::Ended(_) | Fault::Broken(_) | Fault::Server(_)), "{fault:?}");
        let (mut idle, mut busy) = (session(&server).await, session(&server).await);
        assert_eq!(text(&mut idle, "SELECT COUNT(*) FROM t").await, "0");
        run(&mut idle, "LOCK TABLE t WRITE").await;
        let mut waiting = pin!(end(&mut busy, "SELECT * FROM t"));
        let pending = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
        assert!(pending, "the lock is held");
        server.kill();
        let fault = waiting.await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        let fault = end(&mut idle, "SELECT 1").await.unwrap_err();
        assert!(matches!(fault, Fault::Broken(_)), "{fault:?}");
        let fault = refused(&address).await;
        assert!(matches!(fault, Fault::Connect(_)), "{fault:?}");
        server.restart();
        let mut session = client(&address).connect(0).await.unwrap();
        assert_eq!(text(&mut session, "SELECT COUNT(*) FROM t").await, "0");
        let fault = end(&mut session, "SELECT * FROM nothing").await.unwrap_err();
        assert_eq!(code(&fault), ErrorCode::NO_SUCH_TABLE, "{fault:?}");
    });
}
