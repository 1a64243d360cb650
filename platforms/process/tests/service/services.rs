//! Real services on the platform: each question with its own service, and nothing left of those that start
//! daemons.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use barograph_platform::{
    Platform, Readiness, ReadinessCheck, Step, StopSignal, Unit, UnitExit, UnitFile, UnitHandle, User,
};
use barograph_platform_process::ProcessPlatform;

use crate::place::{
    LONG, TestSite, children, groups_or_skip, postgres_or_skip, processes_naming, program_or_skip,
    until_async,
};

/// A place whose site has a folder of its own.
fn place() -> TestSite {
    TestSite::with(|spec, dir| spec.folder = dir.join("site"))
}

/// A unit in a folder of its own with one file, which creates the folder.
fn unit(place: &TestSite, name: &str, program: PathBuf, ask: ReadinessCheck) -> (Unit, u16) {
    let port = place.site().port("here", 0).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let unit = Unit {
        workdir: place.spec.folder.join(name),
        log: place.path(&format!("{name}.log")),
        files: vec![UnitFile { path: "made".into(), bytes: Vec::new(), mode: 0o600 }],
        ..Unit::new(name, program, Readiness::Answers { ask, address, timeout: LONG })
    };
    (unit, port)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn postgres(place: &TestSite) -> Option<Unit> {
    let (server, initdb) = (postgres_or_skip("postgres")?, postgres_or_skip("initdb")?);
    let (unit, port) = unit(place, "postgres", server, ReadinessCheck::Postgres);
    let data = unit.workdir.join("data").display().to_string();
    let args = words(&format!("-D {data} -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync"));
    let options = format!("-D {data} -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=");
    Some(Unit {
        prepare: vec![Step { program: initdb, args }],
        args: words(&options),
        user: User::NotRoot,
        stop: StopSignal::Int,
        ..unit
    })
}

/// Checks that no process has the site's folder in its command line.
fn nothing_of(folder: &Path) {
    assert_eq!(processes_naming(folder), Vec::<String>::new());
}

#[tokio::test]
async fn postgresql_is_set_up_by_a_step_and_stops_is_killed_and_swept() {
    let mut place = place();
    let Some(unit) = postgres(&place) else { return };
    assert!(place.site().preflight(&unit).await.is_ok());
    let running = place.start(&unit).await.unwrap();
    let Readiness::Answers { address, .. } = &unit.ready else { unreachable!() };
    assert_eq!(running.address(), Some(*address));
    let pid = running.pid().unwrap();
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    assert_eq!(exe, unit.program.canonicalize().unwrap(), "it is the server, not what comes before it");
    assert!(children(pid).len() >= 3);
    let folder = place.spec.folder.clone();
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Code(0), "SIGINT is its orderly end");
    nothing_of(&folder);
    assert!(
        running.logs().unwrap().tail(9).0.iter().any(|line| line.contains("database system is shut down"))
    );
    // Its data exist: it starts again without the step.
    let again = Unit { prepare: Vec::new(), ..unit };
    let running = place.start(&again).await.unwrap();
    let started = children(running.pid().unwrap());
    assert!(started.len() >= 3, "its processes: {started:?}");
    assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9));
    nothing_of(&folder);
    assert!(started.iter().all(|pid| !crate::place::lives(*pid)));
    let running = place.start(&again).await.unwrap();
    let started = children(running.pid().unwrap());
    // A sweep while it runs, as after a killed driver.
    let swept = ProcessPlatform.sweep(&place.ledger).await.unwrap();
    assert!(swept.failed.is_empty(), "{swept:?}");
    assert!(started.iter().all(|pid| !crate::place::lives(*pid)) && !folder.exists());
    running.wait_exit().await;
    assert!(ProcessPlatform.sweep(&place.ledger).await.unwrap().is_empty());
    place.close().await;
}

#[tokio::test]
async fn rabbitmq_leaves_no_epmd() {
    let hint = "apt-get install -y rabbitmq-server";
    let Some(server) = program_or_skip(&["/usr/lib/rabbitmq/bin/rabbitmq-server"], hint) else { return };
    let mut place = place();
    let (unit, port) = unit(&place, "rabbitmq", server, ReadinessCheck::Amqp);
    let ports = [(); 2].map(|()| place.site().port("here", 0).unwrap());
    let at = |name: &str| unit.workdir.join(name).display().to_string();
    let env = [
        ("HOME", at("")),
        ("RABBITMQ_NODENAME", format!("r{port}@localhost")),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", port.to_string()),
        ("RABBITMQ_DIST_PORT", ports[0].to_string()),
        ("RABBITMQ_MNESIA_BASE", at("data")),
        ("RABBITMQ_LOG_BASE", at("logs")),
        ("RABBITMQ_LOGS", "-".to_owned()),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins")),
        ("RABBITMQ_CONFIG_FILE", at("none")),
        ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
        ("ERL_EPMD_PORT", ports[1].to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
    ];
    let plugins = UnitFile { path: "plugins".into(), bytes: b"[].\n".to_vec(), mode: 0o644 };
    let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let unit = Unit { env, files: vec![plugins], ..unit.clone() };
    let running = place.start(&unit).await.unwrap();
    let listening = || std::net::TcpStream::connect(("127.0.0.1", ports[1])).is_ok();
    assert!(listening(), "epmd is there");
    running.stop(LONG).await.unwrap();
    assert!(!listening(), "epmd is gone");
    nothing_of(&place.spec.folder);
    place.close().await;
}

/// A service that needs only its command; `None` after printing what is missing.
fn simple(place: &TestSite, name: &str) -> Option<Unit> {
    let (places, hint, ask): (&[&str], _, _) = match name {
        "redis" => (&["/usr/bin/redis-server"], "apt-get install -y redis-server", ReadinessCheck::Redis),
        "memcached" => (&["/usr/bin/memcached"], "apt-get install -y memcached", ReadinessCheck::Memcached),
        "nats" => (
            &["/usr/sbin/nats-server", "/usr/bin/nats-server"],
            "apt-get install -y nats-server",
            ReadinessCheck::Nats,
        ),
        "nginx" => (
            &["/usr/sbin/nginx"],
            "apt-get install -y nginx-light",
            ReadinessCheck::Http { path: "/".to_owned() },
        ),
        "haproxy" => (&["/usr/sbin/haproxy"], "apt-get install -y haproxy", ReadinessCheck::Listens),
        "ferretdb" => {
            let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/ferretdb");
            (&[built], "cargo xtask test builds it", ReadinessCheck::MongoDb)
        }
        _ => (&["/usr/sbin/mariadbd"], "apt-get install -y mariadb-server", ReadinessCheck::MySql),
    };
    let (mut unit, port) = unit(place, name, program_or_skip(places, hint)?, ask);
    let folder = unit.workdir.display().to_string();
    let file =
        |path: &str, text: String| UnitFile { path: path.into(), bytes: text.into_bytes(), mode: 0o644 };
    let line = match name {
        "redis" => format!("--port {port} --bind 127.0.0.1 --dir {folder} --daemonize no"),
        "memcached" => format!("-u root -p {port} -l 127.0.0.1 -U 0 -m 16"),
        "nats" => format!("-a 127.0.0.1 -p {port} -js -sd {folder}/js"),
        "nginx" => {
            let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|kind| format!("{kind}_temp_path t_{kind};"))
                .concat();
            let text = format!(
                "pid p; events {{}} http {{ access_log off; {temporary} \
                 server {{ listen 127.0.0.1:{port}; return 200 yes; }} }}"
            );
            unit.files.push(file("n.conf", text));
            unit.stop = StopSignal::Quit;
            format!("-p {folder} -e {folder}/e.log -c {folder}/n.conf -g")
        }
        "haproxy" => {
            let text = format!(
                "defaults\n timeout client 1s\n timeout connect 1s\n timeout server 1s\n\
                 frontend f\n mode tcp\n bind 127.0.0.1:{port}\n"
            );
            unit.files.push(file("h.cfg", text));
            format!("-db -f {folder}/h.cfg")
        }
        "ferretdb" => {
            unit.files.push(file("data/none", String::new()));
            format!(
                "--handler=sqlite --sqlite-url=file:{folder}/data/ --listen-addr=127.0.0.1:{port} --debug-addr=- \
                 --telemetry=disable --state-dir={folder}"
            )
        }
        _ => {
            // It runs as root only with this argument.
            let root = if rustix::process::geteuid().is_root() { " --user=root" } else { "" };
            let options = format!(
                "--no-defaults{root} --auth-root-authentication-method=normal --skip-test-db \
                 --datadir={folder}/data"
            );
            unit.prepare =
                vec![Step { program: "/usr/bin/mariadb-install-db".into(), args: words(&options) }];
            format!(
                "--no-defaults{root} --datadir={folder}/data --port={port} --bind-address=127.0.0.1 \
                 --socket={folder}/s --pid-file={folder}/p"
            )
        }
    };
    unit.args = words(&line);
    if name == "nginx" {
        unit.args.push("daemon off;".to_owned());
    }
    Some(unit)
}

#[tokio::test]
async fn each_service_answers_its_question_and_stops() {
    for name in ["redis", "memcached", "nats", "nginx", "haproxy", "ferretdb", "mariadb"] {
        let mut place = place();
        let Some(unit) = simple(&place, name) else { continue };
        let running = place.start(&unit).await.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let pid = running.pid().unwrap();
        let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert_eq!(exe.file_name(), unit.program.canonicalize().unwrap().file_name(), "{name}");
        running.stop(LONG).await.unwrap();
        nothing_of(&place.spec.folder);
        let folder = place.spec.folder.clone();
        place.close().await;
        assert!(!folder.exists(), "{name}");
    }
}

#[tokio::test]
async fn a_service_that_others_answer_for_is_not_ready() {
    // The port is in use already, so the service ends; the answer of the other one does not count.
    let place = place();
    let Some(unit) = simple(&place, "nats") else { return };
    let Readiness::Answers { address, .. } = &unit.ready else { unreachable!() };
    let _other = std::net::TcpListener::bind(address).unwrap();
    let fault = place.start(&unit).await.err().unwrap();
    assert!(fault.to_string().contains("ended before it was ready"), "{fault}");
}

#[tokio::test]
async fn a_killed_postgresql_in_a_paused_group_is_gone_at_once() {
    if !groups_or_skip() {
        return;
    }
    let mut place = place();
    let Some(unit) = postgres(&place) else { return };
    let running: Box<dyn UnitHandle> = place.start(&unit).await.unwrap();
    running.pausing().unwrap().pause().unwrap();
    let pg_isready = postgres_or_skip("pg_isready").unwrap();
    let Readiness::Answers { address, .. } = &unit.ready else { unreachable!() };
    let args = words(&format!("-h 127.0.0.1 -p {} -t 1", address.port()));
    let ready = || Command::new(&pg_isready).args(&args).output().unwrap().status.success();
    assert!(!ready(), "a paused server does not answer");
    running.pausing().unwrap().resume().unwrap();
    until_async("it answers again", ready).await;
    running.pausing().unwrap().pause().unwrap();
    assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9));
    nothing_of(&place.spec.folder);
    place.close().await;
}
