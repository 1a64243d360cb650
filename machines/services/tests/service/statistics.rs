//! Statistics of running services match the operations done on them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use barograph_auction_bus::{BusEvent, BusUrl, NodeName, Recipient, Settings};
use barograph_service_metrics::{AskError, Statistic, StatisticsClient};
use barograph_services::Flavour;
use barograph_testkit::ClosedPort;

use crate::backend::Backend;
use crate::databases::psql;
use crate::said::{ask, connect, http, program};
use crate::stand::{InstanceSpec, ReadyUnit, TestSite, or_skip};

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(180);

/// A service under query, over one connection.
struct StatisticsSession {
    asker: StatisticsClient,
    values: Vec<Statistic>,
}

type StatisticValues = BTreeMap<String, f64>;

impl StatisticsSession {
    fn with(up: &ReadyUnit) -> Self {
        let asked = up.service.statistics().unwrap();
        let at = up.at(asked.port.as_deref().unwrap());
        StatisticsSession { asker: StatisticsClient::new(asked, at), values: asked.values.clone() }
    }

    /// Waits for the next answer, as a busy machine may leave questions without one.
    async fn told(&mut self) -> StatisticValues {
        let answered = async {
            loop {
                match self.asker.ask().await {
                    Ok(values) => return values,
                    Err(AskError::Late { .. } | AskError::Connection { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        };
        let values = tokio::time::timeout(DEADLINE, answered).await.unwrap();
        let named = self.values.iter().zip(values);
        named.filter_map(|(statistic, value)| Some((statistic.name.clone(), value?))).collect()
    }

    /// Checks that all statistics are reported, except those in `absent`.
    async fn all(&mut self, absent: &[&str]) -> StatisticValues {
        let told = self.told().await;
        let missing =
            self.values.iter().map(|value| value.name.as_str()).filter(|name| !told.contains_key(*name));
        assert_eq!(missing.collect::<Vec<_>>(), absent);
        told
    }

    /// Asks until all statistics are right.
    async fn told_when(&mut self, right: impl Fn(&StatisticValues) -> bool) -> StatisticValues {
        let mut last = StatisticValues::new();
        let wait = async {
            loop {
                last = self.told().await;
                if right(&last) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(DEADLINE, wait).await;
        assert!(waited.is_ok(), "at last {last:?}");
        last
    }

    /// Answer to one question; `None` if a busy machine leaves it without one.
    async fn told_at_once(&mut self) -> Option<StatisticValues> {
        let values = self.asker.ask().await.ok()?;
        let named = self.values.iter().zip(values);
        Some(named.filter_map(|(statistic, value)| Some((statistic.name.clone(), value?))).collect())
    }

    /// Statistics before and after `act`, with no question in between. A question without an answer may count
    /// like any other, and so does its connection until the service notices its end: then everything is
    /// repeated.
    async fn around<T>(&mut self, act: impl Fn() -> T) -> (StatisticValues, StatisticValues, Vec<T>) {
        let mut done = Vec::new();
        let both = async {
            loop {
                self.told().await;
                let Some(before) = self.told_at_once().await else { continue };
                done.push(act());
                if let Some(after) = self.told_at_once().await {
                    return (before, after);
                }
            }
        };
        let (before, after) = tokio::time::timeout(DEADLINE, both).await.unwrap();
        (before, after, done)
    }

    /// Asks until the change since `before` is right: some services update their figures only occasionally.
    async fn until(&mut self, before: &StatisticValues, right: impl Fn(&dyn Fn(&str) -> f64) -> bool) {
        let mut last = StatisticValues::new();
        let wait = async {
            loop {
                last = self.told().await;
                if right(&|name| last[name] - before[name]) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            panic!("before {before:?}\nat last {last:?}");
        }
    }
}

async fn one(name: &str, values: &[(&str, String)]) -> Option<(TestSite, ReadyUnit)> {
    let [service] = or_skip([name])?;
    let stand = TestSite::new().await;
    let up = stand.start(service, InstanceSpec { name, flavour: Flavour::Tuned, values }).await;
    Some((stand, up))
}

async fn end((stand, up): (TestSite, ReadyUnit)) {
    up.assert_listens_at_home();
    up.stop().await;
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_tells_of_commits_rows_and_its_log() {
    let Some((stand, up)) = one("postgres", &[]).await else { return };
    psql(&up.url, "CREATE TABLE kept (x int)");
    let mut talk = StatisticsSession::with(&up);
    talk.all(&[]).await;
    // The connection of the previous client ends a moment after its program.
    let none = |told: &StatisticValues| {
        ["active", "waiting_for_locks", "connections"].iter().all(|&name| told[name] == 0.0)
    };
    let before = talk.told_when(none).await;
    for _ in 0..10 {
        psql(&up.url, "INSERT INTO kept SELECT generate_series(1, 100)");
    }
    psql(&up.url, "BEGIN; INSERT INTO kept VALUES (1); ROLLBACK");
    talk.until(&before, |grown| {
        grown("commits") >= 10.0 && grown("rollbacks") >= 1.0 && grown("rows_written") >= 1_001.0
    })
    .await;
    talk.until(&before, |grown| grown("wal_bytes") > 10_000.0 && grown("wal_syncs") >= 10.0).await;
    drop(talk);
    psql(&up.url, "CREATE TABLE done (x int)");
    let holder = "BEGIN; LOCK TABLE kept; \
        DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM done) LOOP PERFORM pg_sleep(0.05); END LOOP; END $$; COMMIT";
    std::thread::scope(|scope| {
        scope.spawn(|| psql(&up.url, holder));
        block_on_states(&up, &["timeout/PgSleep"]);
        scope.spawn(|| psql(&up.url, "SELECT count(*) FROM kept"));
        block_on_states(&up, &["lock/relation", "timeout/PgSleep"]);
        psql(&up.url, "INSERT INTO done VALUES (1)");
    });
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_tells_of_commits_and_its_log() {
    let Some((stand, up)) = one("mariadb", &[]).await else { return };
    let (host, port) = (up.main().ip().to_string(), up.main().port().to_string());
    let at = ["--no-defaults", "-h", &host, "-P", &port, "-u", "auction", "auction"];
    let sql = |text: &str| program("mariadb", &[&at[..], &["-e", text]].concat());
    sql("CREATE TABLE kept (x int) ENGINE=InnoDB");
    let mut talk = StatisticsSession::with(&up);
    let before = talk.all(&[]).await;
    for _ in 0..5 {
        sql("START TRANSACTION; INSERT INTO kept VALUES (1); COMMIT");
    }
    sql("START TRANSACTION; INSERT INTO kept VALUES (2); ROLLBACK");
    talk.until(&before, |grown| (grown("commits"), grown("rollbacks")) == (5.0, 1.0)).await;
    talk.until(&before, |grown| grown("log_bytes") > 0.0 && grown("statements") >= 18.0).await;
    let now = talk.told().await;
    assert!(now["running"] >= 1.0 && now["connections"] >= 1.0, "{now:?}");
    drop(talk);
    std::thread::scope(|scope| {
        let holder = "START TRANSACTION; UPDATE kept SET x = 3; SELECT SLEEP(600); COMMIT";
        // It fails when the sleep is ended below.
        scope.spawn(|| Command::new("mariadb").args(at).args(["-e", holder]).output());
        block_on_states(&up, &["running/User sleep"]);
        scope.spawn(|| sql("UPDATE kept SET x = 4"));
        block_on_states(&up, &["lock/row", "running/User sleep"]);
        let holder = "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
        let holder = sql(holder);
        sql(&format!("KILL QUERY {}", holder.lines().last().unwrap()));
    });
    end((stand, up)).await;
}

/// Asks for states until each of these has a session. Blocks.
fn block_on_states(up: &ReadyUnit, wanted: &[&str]) {
    let asked = up.service.statistics().unwrap();
    let mut asker = StatisticsClient::new(asked, up.at(asked.port.as_deref().unwrap()));
    let sampled = asked.sampled.as_ref().unwrap();
    let mut last = Vec::new();
    let wait = async {
        loop {
            match asker.states(sampled).await {
                Ok(states) => last = states,
                Err(AskError::Late { .. } | AskError::Connection { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            if wanted.iter().all(|state| last.iter().any(|(name, number)| name == state && *number == 1.0)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(sampled.every_ms)).await;
        }
    };
    let waited = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(tokio::time::timeout(DEADLINE, wait))
    });
    assert!(waited.is_ok(), "at last {last:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_counts_what_was_asked_of_it() {
    let Some((stand, up)) = one("redis", &[]).await else { return };
    let mut talk = StatisticsSession::with(&up);
    talk.all(&[]).await;
    let words = b"SET key value\r\nGET key\r\nGET key\r\nGET none\r\nPING\r\n";
    let (before, now, streams) = talk
        .around(|| {
            let mut stream = connect(up.main());
            ask(&mut stream, words, "+PONG\r\n");
            stream
        })
        .await;
    let grown = |name: &str| now[name] - before[name];
    // The previous question was counted after its answer.
    assert_eq!((grown("hits"), grown("misses"), grown("commands")), (2.0, 1.0, 6.0));
    assert_eq!(now["clients"], before["clients"] + 1.0);
    drop((streams, talk));
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memcached_counts_what_was_asked_of_it() {
    let Some((stand, up)) = one("memcached", &[]).await else { return };
    let mut talk = StatisticsSession::with(&up);
    let before = talk.all(&[]).await;
    let mut stream = connect(up.main());
    ask(&mut stream, b"set key 0 0 5\r\nvalue\r\nget key\r\nget none\r\n", "\r\nEND\r\nEND\r\n");
    let now = talk.told().await;
    let grown = |name: &str| now[name] - before[name];
    assert_eq!([grown("sets"), grown("gets"), grown("hits"), grown("misses")], [1.0, 2.0, 1.0, 1.0]);
    drop((stream, talk));
    end((stand, up)).await;
}

/// Sends twenty messages over the bus of the application, from one node to another.
async fn twenty_messages(url: &str) {
    let url: BusUrl = url.parse().unwrap();
    let place = |node| NodeName { namespace: "statistics", node };
    let settings = Settings::default();
    let (from, _heard) = barograph_auction_bus::connect(&url, place("from"), &settings).await.unwrap();
    let (to, mut heard) = barograph_auction_bus::connect(&url, place("to"), &settings).await.unwrap();
    let all = async {
        let mut messages = 0;
        while messages < 20 {
            // Messages sent before both were connected may be lost.
            if to.is_connected() && from.is_connected() {
                let _ = from.send(Recipient::Node("to"), vec![7; 100].into());
            }
            if let Ok(Some(BusEvent::Message(_))) =
                tokio::time::timeout(Duration::from_millis(50), heard.recv()).await
            {
                messages += 1;
            }
        }
    };
    tokio::time::timeout(DEADLINE, all).await.unwrap();
    from.close().await;
    to.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_counts_messages() {
    let Some((stand, up)) = one("nats", &[]).await else { return };
    let mut talk = StatisticsSession::with(&up);
    let before = talk.all(&[]).await;
    twenty_messages(&up.url).await;
    talk.until(&before, |grown| {
        grown("messages_in") >= 20.0 && grown("messages_out") >= 20.0 && grown("bytes_in") >= 2_000.0
    })
    .await;
    assert_eq!(talk.told().await["slow_consumers"], 0.0);
    drop(talk);
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_counts_messages() {
    let Some((stand, up)) = one("rabbitmq", &[]).await else { return };
    twenty_messages(&up.url).await;
    let mut talk = StatisticsSession::with(&up);
    let before = talk.all(&[]).await;
    assert!(before["messages_in"] >= 20.0 && before["used_bytes"] > 1e6, "{before:?}");
    assert_eq!(before["memory_alarm"], 0.0);
    twenty_messages(&up.url).await;
    talk.until(&before, |grown| grown("messages_in") >= 20.0 && grown("messages_out") >= 20.0).await;
    drop(talk);
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_servers_count_requests_and_connections() {
    for name in ["nginx", "httpd"] {
        let node = Backend::start("app-1");
        let Some((stand, up)) = one(name, &[("servers", format!("app-1={}", node.at))]).await else {
            continue;
        };
        let mut talk = StatisticsSession::with(&up);
        let before = talk.all(&[]).await;
        for user in 0..7 {
            http(up.main(), "GET", &format!("/auction/user/{user}"), "").unwrap();
        }
        // Idle connections stay open.
        let held: Vec<_> = (0..3).map(|_| connect(up.main())).collect();
        if name == "nginx" {
            // The connection of the readiness check may still count before.
            let since = StatisticValues::from([
                ("requests".to_owned(), before["requests"]),
                ("active".to_owned(), 0.0),
            ]);
            talk.until(&since, |grown| grown("requests") >= 8.0 && grown("active") >= 4.0).await;
            assert!(talk.told().await["requests"] - before["requests"] < 10_000.0);
        } else {
            let now = talk.told().await;
            assert!(now["busy"] >= 1.0 && now["idle"] >= 1.0, "{now:?}");
        }
        // The status page is not reachable for clients.
        let (head, body) = http(up.main(), "GET", "/barograph/status", "").unwrap();
        assert!(!body.contains("Active connections") && !body.contains("BusyWorkers"), "{head}");
        drop((held, talk));
        end((stand, up)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_counts_requests_and_dead_servers() {
    let node = Backend::start("app-1");
    let closed = ClosedPort::new().unwrap();
    let servers = format!("app-1={} dead={}", node.at, closed.addr());
    let Some((stand, up)) = one("haproxy", &[("servers", servers)]).await else { return };
    let mut talk = StatisticsSession::with(&up);
    let before = talk.all(&[]).await;
    talk.until(&StatisticValues::from([("servers_down".to_owned(), 0.0)]), |now| now("servers_down") == 1.0)
        .await;
    assert!(talk.told().await["servers_lost"] >= 1.0, "what is out was lost once");
    for user in 0..7 {
        http(up.main(), "GET", &format!("/auction/user/{user}"), "").unwrap();
    }
    talk.until(&before, |grown| grown("requests") == 7.0 && grown("bytes_out") > 0.0).await;
    let now = talk.told().await;
    assert_eq!((now["accepted"] - before["accepted"], now["queue"], now["answers_5xx"]), (7.0, 0.0, 0.0));
    drop((talk, closed));
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ferretdb_counts_commands() {
    let Some((stand, up)) = one("ferretdb", &[]).await else { return };
    let mut talk = StatisticsSession::with(&up);
    // It does not list a counter that has counted nothing.
    talk.told().await;
    crate::databases::say_hello(&up);
    let before = talk.all(&[]).await;
    for _ in 0..5 {
        crate::databases::say_hello(&up);
    }
    talk.until(&before, |grown| {
        (grown("commands"), grown("answered_well"), grown("finds")) == (5.0, 5.0, 0.0)
    })
    .await;
    drop(talk);
    end((stand, up)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_stands_still_gives_no_answer_and_another_when_it_goes_on() {
    for name in ["postgres", "redis", "nats"] {
        let Some((stand, up)) = one(name, &[]).await else { continue };
        let mut talk = StatisticsSession::with(&up);
        let before = talk.all(&[]).await;
        up.running.pausing().unwrap().pause().unwrap();
        for _ in 0..2 {
            // Over the existing connection, and over a new one, which the kernel accepts.
            let none = talk.asker.ask().await.unwrap_err();
            assert!(matches!(none, AskError::Late { .. }), "{name}: {none}");
        }
        up.running.pausing().unwrap().resume().unwrap();
        assert_eq!(talk.all(&[]).await.len(), before.len());
        drop(talk);
        end((stand, up)).await;
    }
}
