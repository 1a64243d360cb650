//! Units of all kinds: ready, ended, stopped, killed, paused, dropped.

use std::time::Duration;

use barograph_platform::{Fault, Platform, Readiness, Side, Step, UnitExit, UnitFile, User};

use crate::place::{JOB, LONG, SERVICE, TestSite, collector, ended_early, host, lives, platform, until};

/// Reports readiness at any address, and answers `hello` to every connection.
const ANSWERING: &str = r#"echo noise >&2; echo hello $COLOUR; echo '{"ready":true,"address":"0.0.0.0:4321"}'
exec python3 -c '
import socket
s = socket.create_server(("0.0.0.0", 4321))
while True:
    c, _ = s.accept(); c.sendall(b"hello\n"); c.close()
'"#;

/// Connects to host $1 until something answers, and prints the answer.
const ASKING: &str = r#"exec python3 -c '
import socket, sys, time
for _ in range(5000):
    try:
        print(socket.create_connection((sys.argv[1], 4321), 5).recv(100).decode().strip()); sys.exit(0)
    except OSError:
        time.sleep(0.02)
sys.exit(1)
' "$1""#;

#[tokio::test]
async fn a_service_is_ready_and_is_reached_from_everywhere() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let (on_line, lines) = collector();
    let unit = place.unit("app", ANSWERING, SERVICE);
    let running = place.site().create(&unit, on_line).await.unwrap();
    assert_eq!(lines.lock().unwrap()[0], "hello green");
    let address = running.address().unwrap();
    assert_eq!(Some(address.ip()), place.site().address("a"));
    assert_ne!(place.site().address("a"), place.site().address("b"));
    let pid = running.pid().unwrap();
    assert!(lives(pid));
    for (name, host, of) in [("same", "a", "127.0.0.1".to_owned()), ("other", "b", address.ip().to_string())]
    {
        let mut asking = place.unit(name, ASKING, JOB);
        asking.host = host.to_owned();
        asking.args.extend(["sh".to_owned(), of]);
        let (on_line, lines) = collector();
        let job = place.site().create(&asking, on_line).await.unwrap();
        assert_eq!(job.wait_exit().await, UnitExit::Code(0));
        assert_eq!(*lines.lock().unwrap(), ["hello"], "from host {host}");
    }
    let mut said = Vec::new();
    until("an answer to the machine", || {
        let mut stream = std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok();
        said.clear();
        stream.as_mut().is_some_and(|s| std::io::Read::read_to_end(s, &mut said).is_ok())
    })
    .await;
    assert_eq!(said, b"hello\n");
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15));
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15), "stopping twice is fine");
    assert_eq!(running.logs().unwrap().tail(5).0, ["noise"]);
    assert!(!lives(pid));
    place.close().await;
}

#[tokio::test]
async fn jobs_tell_their_end_and_failures_say_why() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let (on_line, lines) = collector();
    let job = place.unit("job", "echo one; echo two; exit 0", JOB);
    let job = place.site().create(&job, on_line).await.unwrap();
    assert_eq!((job.wait_exit().await, job.address()), (UnitExit::Code(0), None));
    assert_eq!(*lines.lock().unwrap(), ["one", "two"]);

    let bad = place.unit("bad", "echo went wrong >&2; exit 7", JOB);
    let fault = place.create(&bad).await.err().unwrap();
    assert_eq!(ended_early(&fault), (UnitExit::Code(7), vec!["went wrong".to_owned()]));
    assert_eq!(fault.side(), Side::Target);

    let mut absent = place.unit("absent", "", JOB);
    absent.program = "/usr/bin/no-such-program".into();
    assert!(place.site().preflight(&absent).await.unwrap_err().what.contains("no-such-program"));
    let fault = place.create(&absent).await.err().unwrap();
    assert!(matches!(fault, Fault::Start { .. }), "{fault}");

    // A busy machine may delay its output.
    let mut said = Vec::new();
    for timeout in [700, 7_000, 70_000].map(Duration::from_millis) {
        let mute = "echo still here >&2; exec sleep 1000";
        let mute = place.unit("mute", mute, Readiness::StdoutLine { timeout });
        let fault = place.create(&mute).await.err().unwrap();
        let Fault::NotReady { log, .. } = &fault else { panic!("{fault}") };
        said.clone_from(&log.0);
        if !said.is_empty() {
            break;
        }
    }
    assert_eq!(said, ["still here"]);
    let wrong = place.unit("wrong", r#"echo '{"ready":true,"address":"nowhere"}'; exec sleep 100"#, SERVICE);
    assert!(matches!(place.create(&wrong).await, Err(Fault::BadReadyLine { .. })));
    place.close().await;
}

#[tokio::test]
async fn files_steps_and_the_user_are_there_before_the_start() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let script = "id -u; cat sub/one.conf made; touch mine; stat -c %a sub/one.conf; readlink /proc/self/cwd";
    let mut unit = place.unit("app", script, JOB);
    unit.user = User::NotRoot;
    unit.files = vec![UnitFile { path: "sub/one.conf".into(), bytes: b"x=1\n".to_vec(), mode: 0o640 }];
    unit.prepare = vec![
        Step { program: "/bin/sh".into(), args: vec!["-c".to_owned(), "id -u > made; echo said".to_owned()] },
        Step { program: "/bin/cp".into(), args: vec!["made".to_owned(), "copied".to_owned()] },
    ];
    let (on_line, lines) = collector();
    place.site().create(&unit, on_line).await.unwrap();
    let folder = unit.workdir.display().to_string();
    assert_eq!(*lines.lock().unwrap(), ["1000", "x=1", "1000", "640", folder.as_str()]);
    assert_eq!(place.log("app"), "said\n");
    let owner = std::os::unix::fs::MetadataExt::uid(&unit.workdir.join("mine").metadata().unwrap());
    assert_eq!(owner, 0, "outside its files belong to us");

    unit.prepare = vec![Step { program: "/bin/cat".into(), args: vec!["absent".to_owned()] }];
    let fault = place.create(&unit).await.err().unwrap();
    let Fault::Prepare { step, ended, log, .. } = &fault else { panic!("{fault}") };
    assert_eq!((step.as_str(), ended), ("/bin/cat absent", &UnitExit::Code(1)));
    assert!(log.0.last().unwrap().contains("No such file"), "{log}");

    unit.files = vec![UnitFile { path: "/etc/nobody-wrote-this".into(), bytes: Vec::new(), mode: 0o644 }];
    let fault = place.create(&unit).await.err().unwrap();
    assert!(fault.to_string().contains("/etc/nobody-wrote-this"), "{fault}");
    place.close().await;
}

#[tokio::test]
async fn a_log_is_complete_and_an_early_end_shows_its_tail() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let script = "i=1; while [ $i -le 20000 ]; do echo line $i >&2; i=$((i+1)); done; exit 7";
    let unit = place.unit("app", script, SERVICE);
    let (ended, tail) = ended_early(&place.create(&unit).await.err().unwrap());
    assert_eq!((ended, tail.len(), tail[19].as_str()), (UnitExit::Code(7), 20, "line 20000"));
    let log = place.log("app");
    let wanted: String = (1..=20000).map(|i| format!("line {i}\n")).collect();
    assert!(log == wanted, "{} of {} bytes", log.len(), wanted.len());

    let both = place.unit("both", "echo out; echo err >&2; exec sleep 100", Readiness::Runs);
    let running = place.create(&both).await.unwrap();
    until("its words", || place.log("both").len() == 8).await;
    assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9));
    place.close().await;
}

#[tokio::test]
async fn a_unit_is_paused_resumed_and_stopped_with_its_own_signal() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let script = "trap 'echo orderly; exit 3' INT; while :; do echo tick; sleep 0.05; done";
    let mut unit = place.unit("app", script, Readiness::Runs);
    unit.stop = barograph_platform::StopSignal::Int;
    let running = place.create(&unit).await.unwrap();
    let length = || place.log("app").len();
    until("ticks", || length() > 0).await;
    running.pausing().unwrap().pause().unwrap();
    // Output from before the pause may still be on its way; a running unit is never silent for this long.
    let silence = async {
        loop {
            let before = length();
            tokio::time::sleep(Duration::from_millis(400)).await;
            if length() == before {
                return before;
            }
        }
    };
    let before = tokio::time::timeout(LONG, silence).await.expect("a paused unit does nothing");
    running.pausing().unwrap().resume().unwrap();
    running.pausing().unwrap().resume().unwrap();
    until("ticks again", || length() > before).await;
    running.pausing().unwrap().pause().unwrap();
    assert_eq!(
        running.stop(LONG).await.unwrap(),
        UnitExit::Code(3),
        "a paused unit is let go to end in order"
    );
    assert!(place.log("app").ends_with("orderly\n"));
    running.pausing().unwrap().pause().unwrap();

    let stubborn =
        place.unit("stubborn", "trap '' TERM; echo up; while :; do sleep 1; done", Readiness::Runs);
    let running = place.create(&stubborn).await.unwrap();
    until("its trap", || !place.log("stubborn").is_empty()).await;
    assert_eq!(running.stop(Duration::from_millis(300)).await.unwrap(), UnitExit::Signal(9));
    place.close().await;
}

#[tokio::test]
async fn what_is_dropped_ends_at_once() {
    let Some(mut place) = TestSite::open(&[]).await else { return };
    let sleeping = |place: &TestSite, name| place.unit(name, "sleep 1000 & exec sleep 1000", Readiness::Runs);
    let running = place.create(&sleeping(&place, "one")).await.unwrap();
    let one = running.pid().unwrap();
    drop(running);
    until("the end of the dropped unit", || !lives(one)).await;
    let kept = place.create(&sleeping(&place, "two")).await.unwrap();
    let two = kept.pid().unwrap();
    assert!(lives(two));
    drop(place.site.take());
    until("the end of the site's units", || !lives(two)).await;
    assert!(!kept.wait_exit().await.is_success());
    until("the end of the site", || {
        place
            .ledger
            .left()
            .iter()
            .all(|left| matches!(left.thing, barograph_platform::Resource::Directory { .. }))
    })
    .await;
}

#[tokio::test]
async fn a_stdin_that_only_the_driver_holds_is_open() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let unit = place.unit("app", "cat; echo the driver is gone", Readiness::Runs);
    let running = place.create(&unit).await.unwrap();
    assert!(running.pid().is_some_and(lives), "it waits for its stdin");
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15));
    place.close().await;
}

#[tokio::test]
async fn hosts_on_the_engines_network_share_an_address_and_its_ports() {
    let Some(place) = TestSite::open(&[("network", "host")]).await else { return };
    let site = place.site();
    assert_eq!(site.address("a"), site.address("b"));
    assert_eq!(site.address("none"), None);
    let (one, two) = (site.port("a", 5432).unwrap(), site.port("b", 5432).unwrap());
    assert_ne!(one, two);
    place.close().await;
}

#[tokio::test]
async fn hosts_of_their_own_have_ports_of_their_own() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let site = place.site();
    assert_eq!((site.port("a", 5432).unwrap(), site.port("b", 5432).unwrap()), (5432, 5432));
    assert_ne!(site.port("a", 5432).unwrap(), 5432);
    assert_eq!(site.address("here").unwrap(), place.engine.leg);
    place.close().await;
}

#[tokio::test]
async fn a_unit_reaches_a_unit_of_this_machine() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let listener = std::net::TcpListener::bind((place.engine.leg, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let answering = std::thread::spawn(move || {
        std::io::Write::write_all(&mut listener.accept().unwrap().0, b"from the machine\n").unwrap();
    });
    let script = r#"exec python3 -c 'import socket, sys
print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 20).recv(100).decode().strip())' "$@""#;
    let mut asking = place.unit("asking", script, JOB);
    let here = place.site().address("here").unwrap().to_string();
    asking.args.extend(["sh".to_owned(), here, port]);
    let (on_line, lines) = collector();
    place.site().create(&asking, on_line).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["from the machine"]);
    answering.join().unwrap();
    let mut here = place.unit("here", "echo on the machine; readlink /proc/self/ns/mnt", JOB);
    here.host = barograph_platform::HERE.to_owned();
    let (on_line, lines) = collector();
    place.site().create(&here, on_line).await.unwrap();
    let own = std::fs::read_link("/proc/self/ns/mnt").unwrap().display().to_string();
    assert_eq!(*lines.lock().unwrap(), ["on the machine", own.as_str()]);
    place.close().await;
}

#[tokio::test]
async fn preflight_says_what_is_there_and_what_is_not() {
    let Some(place) = TestSite::closed(vec![host("a")], &[]) else { return };
    let facts = platform().preflight(&place.spec).await.unwrap();
    let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    assert_eq!(fact("engine"), Some(place.engine.address.as_str()));
    assert_eq!(fact("programs"), Some("the machine's own, by read-only mounts"));
    let gone = ("engine".to_owned(), "unix:///no/such/engine.sock".to_owned());
    let mut spec = place.spec.clone();
    spec.options = vec![gone];
    spec.hosts[0].link.delay = Duration::from_millis(5);
    let missing = platform().preflight(&spec).await.unwrap_err();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[1].what.contains("/no/such/engine.sock"), "{missing:?}");
    assert!(platform().open(&spec, &place.ledger).await.is_err());
    assert!(place.ledger.left().is_empty() && !spec.folder.exists());
}
