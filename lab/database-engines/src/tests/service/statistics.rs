//! Statistics of a server that is there already, with the rights of its user.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use barograph_database::Reply;
use barograph_reactor::block_on;
use barograph_service_metrics::{AskError, Statistics, StatisticsClient};
use barograph_test_services::{Service, mariadb, or_skip, postgres};

use crate::anomalies::Asks;
use crate::mariadb::Mariadb;
use crate::observer::Observer;
use crate::postgres::Postgres;
use crate::product::Product;
use crate::rows;

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(180);

/// A user of a server who asks for statistics.
struct Asker {
    client: StatisticsClient,
    asked: &'static Statistics,
}

impl Asker {
    fn new<P: Product>(url: &str) -> Self {
        let asked = barograph_services::find(P::SERVICE).unwrap().statistics().unwrap();
        let url = url.to_owned();
        let open = Arc::new(move || Box::new(Observer::new::<P>(&url)) as Box<_>);
        Asker { client: StatisticsClient::over(asked, "database", open), asked }
    }

    /// The next answer; a busy machine may leave questions without one.
    async fn values(&mut self) -> BTreeMap<&'static str, f64> {
        loop {
            match self.client.ask().await {
                Ok(values) => {
                    let named = self.asked.values.iter().zip(values);
                    return named.filter_map(|(known, value)| Some((&*known.name, value?))).collect();
                }
                Err(AskError::Late { .. } | AskError::Connection { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }

    /// Asks until this state has a session.
    async fn wait_for(&mut self, state: &str) -> Vec<(String, f64)> {
        let sampled = self.asked.sampled.as_ref().unwrap();
        let wait = async {
            loop {
                match self.client.states(sampled).await {
                    Ok(states) if states.iter().any(|(name, number)| name == state && *number > 0.0) => {
                        return states;
                    }
                    Ok(_) | Err(AskError::Late { .. } | AskError::Connection { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("no session is in {state}"))
    }
}

/// Holds a lock with the first statement in a session of its own while another session waits for it with the second one, and
/// does `meanwhile`.
async fn while_waiting<P: Product>(
    (holder, lock, unlock): (&str, &'static str, &'static str),
    (waiter, wait): (&str, &'static str),
    meanwhile: impl AsyncFnOnce(),
) {
    let [holder, waiter] = [holder, waiter].map(|url| P::resolve(url).unwrap());
    let (held, is_held) = tokio::sync::oneshot::channel();
    let (done, is_done) = std::sync::mpsc::sync_channel::<()>(1);
    let holding = std::thread::spawn(move || {
        block_on(async {
            let mut session = P::session(&holder, "SELECT 1").await?;
            session.ask(lock).await?;
            held.send(()).unwrap();
            is_done.recv().unwrap_err();
            session.ask(unlock).await
        })
        .unwrap()
    });
    is_held.await.unwrap();
    let waiting = std::thread::spawn(move || {
        let waited: Reply<Option<i64>> =
            block_on(async { P::session(&waiter, "SELECT 1").await?.ask(wait).await }).unwrap();
        waited
    });
    meanwhile().await;
    drop(done);
    holding.join().unwrap().unwrap();
    waiting.join().unwrap().unwrap();
}

fn run(url: &str, all: &[&str]) {
    all.iter().for_each(|sql| rows(url, sql, &mut |_| {}).unwrap());
}

async fn answers_again_after_a_restart(mut server: Service, mut asker: Asker) {
    server.kill();
    assert!(asker.client.ask().await.is_err(), "a killed server answers");
    server.restart();
    assert!(asker.values().await.contains_key("commits"));
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_tells_a_user_with_few_rights_what_it_may_read() {
    let Some(server) = or_skip(postgres()) else { return };
    let url = |user: &str| format!("postgres://{user}@127.0.0.1:{}/postgres", server.port());
    let (all, few) = (url("postgres"), url("few"));
    run(
        &all,
        &[
            "CREATE ROLE few LOGIN",
            "CREATE TABLE kept (x int)",
            "GRANT ALL ON kept TO few",
            "REVOKE SELECT ON pg_stat_bgwriter FROM PUBLIC",
        ],
    );
    let (mut of_all, mut of_few) = (Asker::new::<Postgres>(&all), Asker::new::<Postgres>(&few));
    let lock = "BEGIN; LOCK TABLE kept";
    while_waiting::<Postgres>((&all, lock, "COMMIT"), (&few, "SELECT count(*) FROM kept"), async || {
        let states = of_few.wait_for("lock/relation").await;
        assert!(states.iter().all(|(name, _)| name != "client/idle in transaction"), "{states:?}");
        of_all.wait_for("client/idle in transaction").await;
        let values = of_few.values().await;
        assert!(values["hidden_sessions"] >= 1.0, "{values:?}");
        assert!(values["wal_bytes"] > 0.0 && !values.contains_key("checkpoints"), "{values:?}");
        let denied = of_few.client.take_denied().concat();
        assert!(denied.contains("permission denied for view pg_stat_bgwriter"), "{denied}");
        let values = of_all.values().await;
        assert_eq!((values["hidden_sessions"], values["waiting_for_locks"]), (0.0, 1.0), "{values:?}");
        assert_eq!(values.len(), of_all.asked.values.len(), "{values:?}");
        assert_eq!(of_all.client.take_denied(), Vec::<String>::new());
    })
    .await;
    of_few.values().await;
    assert_eq!(of_few.client.take_denied(), Vec::<String>::new(), "a missing right has one message");
    answers_again_after_a_restart(server, of_all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_tells_a_user_with_few_rights_what_it_may_read() {
    let Some(server) = or_skip(mariadb()) else { return };
    let url = |user: &str, database: &str| format!("mysql://{user}@127.0.0.1:{}/{database}", server.port());
    let (all, few) = (url("auction", "auction"), url("few", "kept"));
    run(
        &all,
        &[
            "CREATE DATABASE kept",
            "CREATE TABLE kept.kept (x int) ENGINE=InnoDB",
            "CREATE USER few@'%'",
            "GRANT ALL ON kept.* TO few@'%'",
        ],
    );
    let (mut of_all, mut of_few) = (Asker::new::<Mariadb>(&all), Asker::new::<Mariadb>(&few));
    let lock = "LOCK TABLES kept.kept WRITE";
    let state = "lock/Waiting for table metadata lock";
    while_waiting::<Mariadb>(
        (&all, lock, "UNLOCK TABLES"),
        (&few, "SELECT count(*) FROM kept"),
        async || {
            of_few.wait_for(state).await;
            let denied = of_few.client.take_denied().concat();
            assert!(denied.contains("waits for row locks") && denied.contains("PROCESS"), "{denied}");
            of_all.wait_for(state).await;
            assert_eq!(of_all.client.take_denied(), Vec::<String>::new());
            for asker in [&mut of_few, &mut of_all] {
                let values = asker.values().await;
                assert_eq!(values.len(), asker.asked.values.len(), "{values:?}");
            }
            assert_eq!(of_few.client.take_denied(), Vec::<String>::new(), "a missing right has one message");
        },
    )
    .await;
    answers_again_after_a_restart(server, of_all).await;
}
