//! Real services on hosts, reached from others.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{
    HERE, LinkSpec, Platform, Readiness, ReadinessCheck, Step, StopSignal, Unit, UnitFile, User, ignore_lines,
};

use crate::place::{LONG, TestSite, connect, get, host, listing, platform, program, tell, until};

fn nginx(place: &TestSite, program: PathBuf, on: &str, address: SocketAddr) -> Unit {
    let conf = format!(
        "daemon off; worker_processes 1; error_log stderr; pid nginx.pid; user root;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; \
         scgi_temp_path s;\n server {{ listen {address}; location / {{ return 200 'from {on}\\n'; }} }} }}\n"
    );
    let folder = place.folder("nginx");
    let words = ["-p", &folder.to_string_lossy(), "-e", "stderr", "-c", "nginx.conf"];
    let ask = ReadinessCheck::Http { path: "/".to_owned() };
    Unit {
        host: on.to_owned(),
        args: words.map(str::to_owned).to_vec(),
        files: vec![UnitFile { path: "nginx.conf".into(), bytes: conf.into_bytes(), mode: 0o644 }],
        workdir: folder.clone(),
        log: place.log("nginx"),
        stop: StopSignal::Quit,
        ..Unit::new("nginx", program, Readiness::Answers { ask, address, timeout: LONG })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_on_a_host_answers_others_through_every_change_of_the_network() {
    let Some(program) = program(&["/usr/sbin/nginx"], "nginx-light") else { return };
    let Some(place) = TestSite::new(vec![host("web"), host("client")]).await else { return };
    let site = place.open().await;
    let port = site.port("web", 80).unwrap();
    assert_eq!(port, 80, "a host has its ports for itself");
    let at = SocketAddr::new(site.address("web").unwrap(), port);
    let unit = nginx(&place, program, "web", at);
    site.preflight(&unit).await.unwrap();
    let running = site.create(&unit, ignore_lines()).await.unwrap();
    assert_eq!(running.address(), Some(at));
    let client = place.namespace("client");
    let ask = |from: Option<&str>| get(&mut connect(from, at, LONG).unwrap(), "/").unwrap();
    for from in [Some(client.as_str()), None] {
        assert!(ask(from).0.ends_with("from web\n"), "{:?}", ask(from));
    }
    let network = site.network().unwrap();
    let delay = Duration::from_millis(10);
    network.shape("web", LinkSpec { delay, ..LinkSpec::default() }).await.unwrap();
    let (answer, took) = ask(Some(&client));
    tell(&format!("nginx over a link with 10 ms each way: {took:?}; carried by {:?}", network.carriers()));
    assert!(answer.ends_with("from web\n") && took >= 2 * delay, "{took:?}");
    network.partition(&["web".to_owned()]).await.unwrap();
    assert!(connect(Some(&client), at, Duration::from_millis(300)).is_err());
    network.heal().await.unwrap();
    network.shape("web", LinkSpec::default()).await.unwrap();
    assert!(ask(Some(&client)).0.ends_with("from web\n"));
    assert!(network.carriers().is_empty());
    running.stop(LONG).await.unwrap();
    site.close().await.unwrap();
    until("everything gone", || listing(&place.spec.id, place.ledger.path()).is_empty());
    assert!(place.ledger.left().is_empty(), "{:?}", place.ledger.left());
    assert!(!place.spec.folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_is_a_host_that_others_reach() {
    let Some(program) = program(&["/usr/sbin/nginx"], "nginx-light") else { return };
    let Some(place) = TestSite::new(vec![host("client")]).await else { return };
    let site = place.open().await;
    let at = SocketAddr::new(site.address(HERE).unwrap(), site.port(HERE, 0).unwrap());
    let running = site.create(&nginx(&place, program, HERE, at), ignore_lines()).await.unwrap();
    let client = place.namespace("client");
    for from in [Some(client.as_str()), None] {
        let (answer, _) = get(&mut connect(from, at, LONG).unwrap(), "/").unwrap();
        assert!(answer.ends_with("from here\n"), "{answer}");
    }
    running.stop(LONG).await.unwrap();
    site.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_on_a_host_lets_others_in() {
    let initdb = program(&["/usr/lib/postgresql/15/bin/initdb"], "postgresql-15");
    let postgres = program(&["/usr/lib/postgresql/15/bin/postgres"], "postgresql-15");
    let (Some(initdb), Some(postgres)) = (initdb, postgres) else { return };
    let Some(place) = TestSite::new(vec![host("db"), host("app")]).await else { return };
    let site = place.open().await;
    let at = SocketAddr::new(site.address("db").unwrap(), site.port("db", 5432).unwrap());
    let folder = place.folder("pg");
    let words = |list: &[&str]| list.iter().map(|&w| w.to_owned()).collect::<Vec<_>>();
    let hba = "host all all 0.0.0.0/0 trust\n".to_owned();
    let unit = Unit {
        host: "db".to_owned(),
        args: words(&[
            "-D",
            "data",
            "-p",
            "5432",
            "-c",
            &format!("listen_addresses={}", at.ip()),
            "-c",
            "unix_socket_directories=",
            "-c",
            "fsync=off",
            "-c",
            "hba_file=hba",
        ]),
        files: vec![UnitFile { path: "hba".into(), bytes: hba.into_bytes(), mode: 0o644 }],
        prepare: vec![Step {
            program: initdb,
            args: words(&["-D", "data", "-U", "postgres", "-A", "trust", "--no-sync"]),
        }],
        workdir: folder,
        log: place.log("pg"),
        user: User::NotRoot,
        stop: StopSignal::Int,
        ..Unit::new(
            "pg",
            postgres,
            Readiness::Answers { ask: ReadinessCheck::Postgres, address: at, timeout: LONG },
        )
    };
    let running = site.create(&unit, ignore_lines()).await.unwrap();
    // The first message of PostgreSQL's protocol, version 3: user and database. `R` requests a password or
    // grants access.
    let mut stream = connect(Some(&place.namespace("app")), at, LONG).unwrap();
    let mut hello = vec![0, 0, 0, 0, 0, 3, 0, 0];
    hello.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
    hello[3] = u8::try_from(hello.len()).unwrap();
    stream.write_all(&hello).unwrap();
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"R\0\0\0\x08\0\0\0\0", "let in");
    drop(stream);
    running.stop(LONG).await.unwrap();
    site.close().await.unwrap();
    let swept = platform().sweep(&place.ledger).await.unwrap();
    assert!(swept.is_empty(), "{swept:?}");
}
