//! What units do in a cluster: they become ready, end, are ended, and are removed.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use barograph_platform::{Limits, Platform, Readiness, ReadinessCheck, Step, UnitExit, UnitFile, UnitHandle};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::Cluster;

use crate::stand::{JOB, LONG, SERVICE, Stand, collector, words};

/// A time in which a unit that can end does so.
const GRACE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn units_run_and_end_in_pods() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let stand = Stand::open(&cluster, "u", &[]).await;
    let before = Instant::now();
    a_job_has_files_steps_and_environment(&stand).await;
    say(&format!("a job took {:?}", before.elapsed()));
    a_job_fails_with_its_log(&stand).await;
    a_step_fails_with_its_log(&stand).await;
    a_server_answers_at_the_address_of_its_host(&stand).await;
    a_server_announces_itself(&stand).await;
    ends_are_told(&stand).await;
    a_unit_lives_on_when_the_api_server_restarts(&mut cluster, &stand).await;
    memory_runs_out(&stand).await;
    // Everything is gone with the site, also what still runs.
    let left = stand.create(&stand.unit("left", "exec sleep 86400", Readiness::Runs)).await.unwrap();
    let spaces = || cluster.kubectl(&["get", "namespaces", "-o", "name"]).unwrap();
    assert!(spaces().contains(&stand.spec.id));
    let id = stand.spec.id.clone();
    let begun = Instant::now();
    stand.close().await;
    say(&format!("a site was closed in {:?}", begun.elapsed()));
    drop(left);
    assert!(!spaces().contains(&id));
    what_a_killed_program_leaves_is_swept(&cluster).await;
}

async fn a_job_has_files_steps_and_environment(stand: &Stand) {
    let file = UnitFile { path: "conf/words".into(), bytes: b"from a file".to_vec(), mode: 0o644 };
    let step = Step {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), "echo stepping; echo prepared > made".to_owned()],
    };
    let script = "echo line one; cat conf/words made; echo $COLOUR '$(COLOUR)' >&2";
    let mut unit = stand.unit("job", script, JOB);
    unit.files = vec![file];
    unit.prepare = vec![step];
    let (on_line, lines) = collector();
    let job = stand.site().create(&unit, on_line).await.map_err(|fault| words(&fault)).unwrap();
    assert_eq!(job.wait_exit().await, UnitExit::Code(0));
    let said = lines.lock().unwrap().clone();
    for wanted in ["line one", "from a fileprepared", "green $(COLOUR)"] {
        assert!(said.iter().any(|line| line == wanted), "{wanted}: {said:?}");
    }
    assert!(stand.log("job").contains("stepping"), "{}", stand.log("job"));
    assert_eq!(std::fs::read_to_string(unit.workdir.join("made")).unwrap(), "prepared\n");
}

async fn a_job_fails_with_its_log(stand: &Stand) {
    let unit = stand.unit("fails", "echo no luck >&2; exit 7", JOB);
    let fault = stand.create(&unit).await.err().unwrap();
    let text = "unit `fails` ended before it was ready: exit code 7; the end of its log:\n  no luck";
    assert_eq!(fault.to_string(), text);
}

async fn a_step_fails_with_its_log(stand: &Stand) {
    let mut unit = stand.unit("steps", "true", JOB);
    let step = |script: &str| Step { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
    unit.prepare = vec![step("echo first"), step("echo second; exit 3"), step("echo third")];
    let fault = stand.create(&unit).await.err().unwrap().to_string();
    assert!(fault.contains("exit code 3") && fault.contains("echo second"), "{fault}");
    let log = stand.log("steps");
    assert!(log.contains("first\nsecond\n") && !log.contains("third"), "{log}");
}

/// The store of the control plane is a server that this machine has.
async fn a_server_answers_at_the_address_of_its_host(stand: &Stand) {
    let port = stand.site().port("b", 2379).unwrap();
    assert_eq!(port, 2379, "a host has its own ports");
    let address = stand.site().address("b").unwrap();
    let listen = std::net::SocketAddr::new(stand.site().listen_address("b").unwrap(), port);
    let url = format!("http://{listen}");
    let mut unit = stand.unit("server", "", Readiness::Runs);
    unit.host = "b".to_owned();
    unit.program = "/usr/bin/etcd".into();
    unit.args = vec![format!("--listen-client-urls={url}"), format!("--advertise-client-urls={url}")];
    let ask = ReadinessCheck::Http { path: "/health".to_owned() };
    unit.ready = Readiness::Answers { ask, address: listen, timeout: LONG };
    let server = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    assert_eq!(server.address(), Some((address, port).into()));
    assert!(!server.accounts().cgroups.is_empty(), "its control groups are on this machine");
    assert!(TcpStream::connect((address, port)).is_ok());
    // A server ends in order when it is asked, and starts again with the files it left.
    assert_eq!(server.stop(GRACE).await.unwrap(), UnitExit::Code(0));
    let again = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    assert_eq!(again.kill().await.unwrap(), UnitExit::Signal(9));
}

async fn a_server_announces_itself(stand: &Stand) {
    let port = stand.site().port("a", 0).unwrap();
    let url = format!("http://0.0.0.0:{port}");
    let line = format!(r#"{{"ready":true,"address":"0.0.0.0:{port}"}}"#);
    let script =
        format!("echo '{line}'; exec /usr/bin/etcd --listen-client-urls={url} --advertise-client-urls={url}");
    let server = stand.create(&stand.unit("announced", &script, SERVICE)).await;
    let server = server.map_err(|fault| words(&fault)).unwrap();
    let address = stand.site().address("a").unwrap();
    assert_eq!(server.address(), Some((address, port).into()));
    drop(server);
}

async fn ends_are_told(stand: &Stand) {
    let trap =
        |signal: &str| format!("trap 'echo got {signal}; exit 5' {signal}; while :; do sleep 0.1; done");
    for (name, signal, stop) in [
        ("term", "TERM", barograph_platform::StopSignal::Term),
        ("int", "INT", barograph_platform::StopSignal::Int),
        ("quit", "QUIT", barograph_platform::StopSignal::Quit),
    ] {
        let mut unit = stand.unit(name, &trap(signal), Readiness::Runs);
        unit.stop = stop;
        let running = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
        until_it_does_something(&*running).await;
        assert_eq!(running.stop(GRACE).await.unwrap(), UnitExit::Code(5), "{name}");
        assert!(stand.log(name).contains(&format!("got {signal}")), "{}", stand.log(name));
    }
    let stubborn = stand.unit("stubborn", "trap '' TERM; while :; do sleep 0.1; done", Readiness::Runs);
    let running = stand.create(&stubborn).await.unwrap();
    let ended = running.stop(Duration::from_secs(1)).await.unwrap();
    assert_eq!(ended, UnitExit::Signal(9));
    assert_eq!(running.wait_exit().await, ended, "an end stays");
}

/// A shell has set its traps when it has a child.
async fn until_it_does_something(running: &dyn UnitHandle) {
    let pid = running.pid().expect("it runs on this machine");
    let children = format!("/proc/{pid}/task/{pid}/children");
    let begun = Instant::now();
    while std::fs::read_to_string(&children).unwrap_or_default().trim().is_empty() {
        assert!(begun.elapsed() < LONG, "the shell does nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn a_unit_lives_on_when_the_api_server_restarts(cluster: &mut Cluster, stand: &Stand) {
    let script = "n=0; while [ ! -e enough ]; do n=$((n+1)); echo line $n; sleep 0.1; done; echo last";
    let unit = stand.unit("lives", script, Readiness::Runs);
    let running = stand.create(&unit).await.unwrap();
    tokio::task::block_in_place(|| cluster.restart_api_server());
    std::fs::write(unit.workdir.join("enough"), "").unwrap();
    assert_eq!(running.wait_exit().await, UnitExit::Code(0));
    let log = stand.log("lives");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.last(), Some(&"last"), "{log}");
    for (at, line) in lines[..lines.len() - 1].iter().enumerate() {
        assert_eq!(*line, format!("line {}", at + 1), "no line is lost or told twice: {log}");
    }
}

async fn memory_runs_out(stand: &Stand) {
    // A shell's variable that doubles.
    let mut unit = stand.unit("hungry", "x=0123456789; while :; do x=$x$x; done", Readiness::Runs);
    unit.limits = Limits { memory_bytes: Some(64 << 20), cpus: Some(0.5), ..Limits::default() };
    let running = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    assert_eq!(running.wait_exit().await, UnitExit::Signal(9));
    assert!(stand.log("hungry").contains("out of memory"), "{}", stand.log("hungry"));
}

async fn what_a_killed_program_leaves_is_swept(cluster: &Cluster) {
    let mut stand = Stand::open(cluster, "s", &[]).await;
    let unit = stand.unit("stays", "exec sleep 86400", Readiness::Runs);
    let running = stand.create(&unit).await.unwrap();
    // What a killed program does not do: its destructors.
    std::mem::forget(running);
    std::mem::forget(stand.site.take());
    let swept = KubernetesPlatform.sweep(&stand.ledger).await.unwrap();
    assert_eq!((swept.removed.len(), swept.failed.len()), (1, 0), "{swept:?}");
    let spaces = cluster.kubectl(&["get", "namespaces", "-o", "name"]).unwrap();
    assert!(!spaces.contains(&stand.spec.id), "{spaces}");
    let again = KubernetesPlatform.sweep(&stand.ledger).await.unwrap();
    assert!(again.is_empty(), "{again:?}");
}

/// What was on a lost node starts on the other one, at the same address.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_lost_with_its_node_and_starts_on_another() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let stand = Stand::open(&cluster, "n", &[]).await;
    let unit = stand.unit("stays", "echo here; exec sleep 86400", Readiness::Runs);
    let first = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    let nodes = stand.site().nodes().unwrap();
    let node = nodes.node_of(&unit).await.unwrap().unwrap();
    let begun = Instant::now();
    tokio::task::block_in_place(|| cluster.lose_node(&node));
    assert_eq!(first.wait_exit().await, UnitExit::NodeLost(node.clone()));
    say(&format!("a lost node was known after {:?}", begun.elapsed()));
    let again = stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    let other = nodes.node_of(&unit).await.unwrap().unwrap();
    assert_ne!(other, node);
    assert_eq!(again.kill().await.unwrap(), UnitExit::Signal(9));
    stand.close().await;
}

#[expect(clippy::print_stdout, reason = "a measured figure is shown")]
fn say(text: &str) {
    println!("{text}");
}
