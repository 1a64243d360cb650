//! A real database from the machine's programs.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use barograph_platform::{Readiness, ReadinessCheck, Step, StopSignal, UnitExit, User};
use tokio_postgres::NoTls;

use crate::place::{JOB, LONG, TestSite, collector};
use crate::shared::say;

/// The folder of PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("postgres").is_file())
}

#[tokio::test]
async fn postgresql_answers_the_machine_and_another_host() {
    let Some(bin) = programs() else {
        say("skipped: no PostgreSQL; apt-get install -y postgresql");
        return;
    };
    let Some(place) = TestSite::open(&[]).await else { return };
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let port = place.site().port("a", 5432).unwrap();
    let address = format!("{}:{port}", place.site().address("a").unwrap()).parse().unwrap();
    let mut unit =
        place.unit("pg", "", Readiness::Answers { ask: ReadinessCheck::Postgres, address, timeout: LONG });
    unit.program = bin.join("postgres");
    unit.args = words(&["-D", "data", "-k", "", "-c", "listen_addresses=*", "-p", &port.to_string()]);
    unit.user = User::NotRoot;
    unit.stop = StopSignal::Int;
    unit.prepare = vec![
        Step {
            program: bin.join("initdb"),
            args: words(&["-U", "postgres", "-D", "data", "-A", "trust", "--no-sync"]),
        },
        Step {
            program: "/bin/sh".into(),
            args: words(&["-c", "echo 'host all all 0.0.0.0/0 trust' >> data/pg_hba.conf"]),
        },
    ];
    let begin = Instant::now();
    let running = place.create(&unit).await.unwrap();
    say(&format!("PostgreSQL was ready after {:?}", begin.elapsed()));
    assert_eq!(running.address(), Some(address));

    let settings = format!("host={} port={port} user=postgres dbname=postgres", address.ip());
    let (client, connection) = tokio_postgres::connect(&settings, NoTls).await.unwrap();
    let connected = tokio::spawn(connection);
    let row =
        client.query_one("select inet_client_addr()::text, inet_server_addr()::text", &[]).await.unwrap();
    let from: String = row.get(0);
    assert!(from.starts_with(&place.engine.leg.to_string()), "addresses are not translated: {from}");
    drop(client);
    connected.await.unwrap().unwrap();

    let mut query = place.unit("query", "", JOB);
    query.host = "b".to_owned();
    query.program = bin.join("psql");
    query.args = words(&[&settings, "-At", "-c", "select inet_client_addr(), 6 * 7"]);
    let (on_line, lines) = collector();
    place.site().create(&query, on_line).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), [format!("{}|42", place.site().address("b").unwrap())]);

    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Code(0), "{}", place.log("pg"));
    assert!(place.log("pg").contains("database system is shut down"), "{}", place.log("pg"));
    place.close().await;
}
