//! The life of one unit: readiness, early end, time-out, kill, stop, pause, drop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use barograph_platform::{Fault, Readiness, Resource, Side, StopSignal, Unit, UnitExit, User, ignore_lines};

use crate::place::{
    LONG, READY, SERVICE, TestSite, children, collector, lives, processes_naming, start_ticks, until,
    until_async,
};
use crate::sweep::shell;

#[tokio::test]
async fn a_service_is_ready_with_its_address_and_stops() {
    let place = TestSite::new();
    let (on_line, lines) = collector();
    let unit = place.unit(&format!("echo noise >&2; echo hello $COLOUR; {READY} exec cat"), SERVICE);
    let running = place.site().create(&unit, on_line).await.unwrap();
    assert_eq!(running.address(), Some("127.0.0.1:4321".parse().unwrap()));
    assert_eq!((running.name(), lines.lock().unwrap()[0].as_str()), ("app", "hello green"));
    let pid = running.pid().unwrap();
    let noted = place.left();
    let [Resource::Process { id: Some(id), .. }] = &noted[..] else { panic!("{noted:?}") };
    assert_eq!(noted[0], shell(id.pid, start_ticks(id.pid)));
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15));
    assert!(!lives(pid) && place.left().is_empty());
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15), "stopping twice is fine");
    assert_eq!(running.logs().unwrap().tail(5).0, ["noise"]);
}

#[tokio::test]
async fn an_early_end_shows_status_and_the_last_twenty_lines() {
    let place = TestSite::new();
    let script = "i=1; while [ $i -le 30 ]; do echo line $i >&2; i=$((i+1)); done; exit 7";
    let fault = place.create(script, SERVICE).await.err().unwrap();
    let Fault::EndedEarly { ended, log, .. } = &fault else { panic!("{fault}") };
    assert_eq!((ended, log.0.len()), (&UnitExit::Code(7), 20));
    assert_eq!((log.0[0].as_str(), log.0[19].as_str()), ("line 11", "line 30"));
    assert_eq!(fault.side(), Side::Target);
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn a_service_that_never_says_ready_is_killed_in_time() {
    let place = TestSite::new();
    let ready = Readiness::StdoutLine { timeout: Duration::from_millis(200) };
    let fault = place.create("echo thinking >&2; exec cat", ready).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
    // The progress of the script within the time depends on the machine; everything started must be gone.
    assert!(place.left().is_empty());
    assert_eq!(processes_naming(place.dir.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_closed_stdout_is_not_ready_but_an_end_or_a_time_out() {
    let place = TestSite::new();
    let ready = Readiness::StdoutLine { timeout: Duration::from_millis(200) };
    let fault = place.create("exec > /dev/null; exec cat", ready).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
}

#[tokio::test]
async fn a_wrong_ready_line_is_refused_and_the_unit_ended() {
    let place = TestSite::new();
    let script = r#"echo '{"ready":true,"address":"somewhere"}'; exec cat"#;
    let fault = place.create(script, SERVICE).await.err().unwrap();
    assert!(matches!(fault, Fault::BadReadyLine { .. }), "{fault}");
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn a_missing_program_is_a_fault_and_leaves_nothing() {
    let place = TestSite::new();
    let mut unit = place.unit("", SERVICE);
    unit.program = "/no/such/program".into();
    assert!(place.site().preflight(&unit).await.unwrap_err().what.contains("/no/such/program"));
    let fault = place.site().create(&unit, ignore_lines()).await.err().unwrap();
    assert!(matches!(fault, Fault::Start { .. }), "{fault}");
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn preflight_names_what_is_missing() {
    let place = TestSite::new();
    let good = place.unit("", SERVICE);
    assert!(place.site().preflight(&good).await.is_ok());
    let plain = place.dir.path().join("plain");
    fs::write(&plain, "text").unwrap();
    let bad = [
        Unit { program: "sh".into(), ..good.clone() },
        Unit { program: plain, ..good.clone() },
        Unit { workdir: "/no/such".into(), ..good.clone() },
        Unit { log: "/no/such/log".into(), ..good.clone() },
    ];
    for unit in bad {
        assert!(place.site().preflight(&unit).await.is_err(), "{unit:?}");
    }
    let fault = place.create("", SERVICE).await;
    assert!(matches!(fault, Err(Fault::EndedEarly { .. })));
    let unit = Unit { log: "/no/such/log".into(), ..good };
    let fault = place.site().create(&unit, ignore_lines()).await.err().unwrap();
    assert!(matches!(fault, Fault::OpenLog { .. }) && fault.side() == Side::Tool);
}

#[tokio::test]
async fn a_job_hands_over_all_its_lines_and_its_end() {
    let place = TestSite::new();
    let (on_line, lines) = collector();
    let job = Readiness::Exit { timeout: LONG };
    let unit = place.unit("for n in 1 2 3; do echo step $n; done", job.clone());
    let done = place.site().create(&unit, on_line).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["step 1", "step 2", "step 3"]);
    assert_eq!((done.wait_exit().await, done.address()), (UnitExit::Code(0), None));
    let fault = place.create("echo no room >&2; exit 8", job).await.err().unwrap();
    assert!(fault.to_string().ends_with("exit code 8; the end of its log:\n  no room"), "{fault}");
    let short = Readiness::Exit { timeout: Duration::from_millis(100) };
    let fault = place.create("exec cat", short).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn a_kill_from_outside_is_named() {
    let place = TestSite::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let killed =
        Command::new("/bin/sh").args(["-c", &format!("kill -9 {}", running.pid().unwrap())]).status();
    assert!(killed.unwrap().success());
    assert_eq!(running.wait_exit().await.to_string(), "killed by SIGKILL (signal 9)");
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn a_unit_that_ignores_the_request_is_killed_with_its_children() {
    let place = TestSite::new();
    let script = format!("trap '' TERM; sleep 1000 & {READY} while :; do wait; done");
    let running = place.create(&script, SERVICE).await.unwrap();
    let child = children(running.pid().unwrap())[0];
    let ended = running.stop(Duration::from_millis(100)).await.unwrap();
    assert_eq!(ended, UnitExit::Signal(9));
    assert!(!lives(child));
}

#[tokio::test]
async fn the_signal_that_asks_is_the_unit_s_own() {
    let place = TestSite::new();
    for (stop, number) in [(StopSignal::Int, 2), (StopSignal::Quit, 3), (StopSignal::Term, 15)] {
        // Ready only when no shell precedes the program any more: a shell catches the signal, and loses it
        // with the step.
        let runs = place.unit("", Readiness::Runs);
        let unit = Unit { program: "/bin/cat".into(), args: Vec::new(), stop, ..runs };
        let running = place.start(&unit).await.unwrap();
        assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(number));
    }
}

/// As a shell starts its background processes.
#[test]
fn so_it_is_where_this_program_was_started_to_ignore_it() {
    let this = std::env::current_exe().unwrap();
    let test = "life::the_signal_that_asks_is_the_unit_s_own";
    let script = "trap '' INT QUIT TERM; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).arg(this).args(["--exact", test]);
    let told = command.output().unwrap();
    let text = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn a_unit_that_says_nothing_is_ready_when_its_program_runs() {
    let place = TestSite::new();
    let unit = Unit { program: "/bin/cat".into(), args: Vec::new(), ..place.unit("", Readiness::Runs) };
    for user in [User::Own, User::NotRoot] {
        let running = place.start(&Unit { user, ..unit.clone() }).await.unwrap();
        let pid = running.pid().unwrap();
        assert!(
            fs::read_link(format!("/proc/{pid}/exe")).unwrap().ends_with("cat"),
            "not what comes before it"
        );
        assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15));
    }
    let fault = place.create("echo to the log; exit 3", Readiness::Runs).await;
    // It may have run for a moment.
    if let Err(fault) = fault {
        assert!(matches!(fault, Fault::EndedEarly { ended: UnitExit::Code(3), .. }), "{fault}");
    }
}

#[tokio::test]
async fn a_script_runs_too_and_its_output_is_in_the_log() {
    let place = TestSite::new();
    let script = place.path("script");
    fs::write(&script, "#!/bin/sh\necho out; echo err >&2; echo $1 > said; exec cat\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let unit = Unit { program: script, args: vec!["word".to_owned()], ..place.unit("", Readiness::Runs) };
    let running = place.start(&unit).await.unwrap();
    until_async("it says its word", || place.path("said").exists()).await;
    until_async("its output is in the log", || running.logs().unwrap().tail(9).0 == ["out", "err"]).await;
    running.kill().await.unwrap();
    assert_eq!(place.left(), []);
}

#[tokio::test]
async fn dropping_a_unit_or_its_creation_ends_it() {
    let place = TestSite::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let pid = running.pid().unwrap();
    drop(running);
    until("the dropped unit ends", || !lives(pid));
    let unit = place.unit("echo > file; exec cat", SERVICE);
    let file = place.dir.path().join("file");
    {
        let create = place.site().create(&unit, ignore_lines());
        let started = async {
            while !file.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = create => panic!("it never says ready"),
            () = started => {}
        }
    }
    let gone = || processes_naming(place.dir.path()).is_empty();
    until_async("the unit of a dropped creation ends", gone).await;
}
