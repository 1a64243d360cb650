//! Real processes: ready, early end, time-out, kill, stop, pause, sweep, and the death of the driver.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use barograph_platform::{
    Ended, Fault, Ledger, OnLine, Platform, ProcessId, Readiness, Running, Side, Swept, Thing, Unit,
    ignore_lines,
};
use barograph_platform_process::ProcessPlatform;
use tempfile::TempDir;

const READY: &str = r#"echo '{"ready":true,"address":"127.0.0.1:4321"}'; "#;
const LONG: Duration = Duration::from_secs(20);
const SERVICE: Readiness = Readiness::StdoutLine { timeout: LONG };

struct Place {
    dir: TempDir,
    ledger: Ledger,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        Place { dir, ledger }
    }

    fn unit(&self, script: &str, ready: Readiness) -> Unit {
        Unit {
            name: "app".to_owned(),
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("COLOUR".to_owned(), "green".to_owned())],
            workdir: self.dir.path().to_owned(),
            log: self.dir.path().join("app.log"),
            ready,
        }
    }

    async fn create(&self, script: &str, ready: Readiness) -> Result<Box<dyn Running>, Fault> {
        ProcessPlatform.create(&self.unit(script, ready), &self.ledger, ignore_lines()).await
    }

    async fn sweep(&self) -> Swept {
        ProcessPlatform.sweep(&self.ledger).await.unwrap()
    }
}

fn collector() -> (OnLine, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), lines)
}

/// Looks again and again until `condition` holds; fails after a while.
fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

fn state(pid: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn lives(pid: u32) -> bool {
    state(pid).is_some_and(|s| s != 'Z' && s != 'X')
}

fn start_ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap()
}

fn bystander() -> Child {
    Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
}

fn shell(pid: u32, start_ticks: u64) -> Thing {
    Thing::Process { program: "/bin/sh".into(), id: Some(ProcessId { pid, start_ticks }) }
}

#[tokio::test]
async fn a_service_is_ready_with_its_address_and_stops() {
    let place = Place::new();
    let (on_line, lines) = collector();
    let unit = place.unit(&format!("echo noise >&2; echo hello $COLOUR; {READY} exec cat"), SERVICE);
    let running = ProcessPlatform.create(&unit, &place.ledger, on_line).await.unwrap();
    assert_eq!(running.address(), Some("127.0.0.1:4321".parse().unwrap()));
    assert_eq!((running.name(), lines.lock().unwrap()[0].as_str()), ("app", "hello green"));
    let pid = running.pid().unwrap();
    assert_eq!(place.ledger.left()[0].thing, shell(pid, start_ticks(pid)));
    assert_eq!(running.stop(LONG).await.unwrap(), Ended::Signal(15));
    assert!(!lives(pid) && place.ledger.left().is_empty());
    assert_eq!(running.stop(LONG).await.unwrap(), Ended::Signal(15), "stopping twice is fine");
    assert_eq!(running.logs().unwrap().tail(5).0, ["noise"]);
}

#[tokio::test]
async fn an_early_end_shows_status_and_the_last_twenty_lines() {
    let place = Place::new();
    let script = "i=1; while [ $i -le 30 ]; do echo line $i >&2; i=$((i+1)); done; exit 7";
    let fault = place.create(script, SERVICE).await.err().unwrap();
    let Fault::EndedEarly { ended, log, .. } = &fault else { panic!("{fault}") };
    assert_eq!((ended, log.0.len()), (&Ended::Code(7), 20));
    assert_eq!((log.0[0].as_str(), log.0[19].as_str()), ("line 11", "line 30"));
    assert_eq!(fault.side(), Side::Target);
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_service_that_never_says_ready_is_killed_in_time() {
    let place = Place::new();
    let ready = Readiness::StdoutLine { timeout: Duration::from_millis(200) };
    let fault = place.create("echo $$ > pid; echo thinking >&2; exec cat", ready).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
    // How far the script came within the time is the machine's affair; what was started must be gone.
    assert!(place.ledger.left().is_empty());
    let pid = fs::read_to_string(place.dir.path().join("pid")).unwrap_or_default();
    assert!(pid.trim().parse().map_or(true, |pid| !lives(pid)));
}

#[tokio::test]
async fn a_closed_stdout_is_not_ready_but_an_end_or_a_time_out() {
    let place = Place::new();
    let ready = Readiness::StdoutLine { timeout: Duration::from_millis(200) };
    let fault = place.create("exec > /dev/null; exec cat", ready).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
}

#[tokio::test]
async fn a_wrong_ready_line_is_refused_and_the_unit_ended() {
    let place = Place::new();
    let script = r#"echo '{"ready":true,"address":"somewhere"}'; exec cat"#;
    let fault = place.create(script, SERVICE).await.err().unwrap();
    assert!(matches!(fault, Fault::BadReadyLine { .. }), "{fault}");
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_missing_program_is_a_fault_and_leaves_nothing() {
    let place = Place::new();
    let mut unit = place.unit("", SERVICE);
    unit.program = "/no/such/program".into();
    assert!(ProcessPlatform.preflight(&unit).await.unwrap_err().what.contains("/no/such/program"));
    let fault = ProcessPlatform.create(&unit, &place.ledger, ignore_lines()).await.err().unwrap();
    assert!(matches!(fault, Fault::Start { .. }), "{fault}");
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn preflight_names_what_is_missing() {
    let place = Place::new();
    let good = place.unit("", SERVICE);
    assert!(ProcessPlatform.preflight(&good).await.is_ok());
    let plain = place.dir.path().join("plain");
    fs::write(&plain, "text").unwrap();
    let bad = [
        Unit { program: "sh".into(), ..good.clone() },
        Unit { program: plain, ..good.clone() },
        Unit { workdir: "/no/such".into(), ..good.clone() },
        Unit { log: "/no/such/log".into(), ..good.clone() },
    ];
    for unit in bad {
        assert!(ProcessPlatform.preflight(&unit).await.is_err(), "{unit:?}");
    }
    let fault = place.create("", SERVICE).await;
    assert!(matches!(fault, Err(Fault::EndedEarly { .. })));
    let unit = Unit { log: "/no/such/log".into(), ..good };
    let fault = ProcessPlatform.create(&unit, &place.ledger, ignore_lines()).await.err().unwrap();
    assert!(matches!(fault, Fault::OpenLog { .. }) && fault.side() == Side::Tool);
}

#[tokio::test]
async fn a_job_hands_over_all_its_lines_and_its_end() {
    let place = Place::new();
    let (on_line, lines) = collector();
    let job = Readiness::Exit { timeout: LONG };
    let unit = place.unit("for n in 1 2 3; do echo step $n; done", job);
    let done = ProcessPlatform.create(&unit, &place.ledger, on_line).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["step 1", "step 2", "step 3"]);
    assert_eq!((done.wait_exit().await, done.address()), (Ended::Code(0), None));
    let fault = place.create("echo no room >&2; exit 8", job).await.err().unwrap();
    assert!(fault.to_string().ends_with("exit code 8; the end of its log:\n  no room"), "{fault}");
    let short = Readiness::Exit { timeout: Duration::from_millis(100) };
    let fault = place.create("exec cat", short).await.err().unwrap();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_kill_from_outside_is_named() {
    let place = Place::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let killed =
        Command::new("/bin/sh").args(["-c", &format!("kill -9 {}", running.pid().unwrap())]).status();
    assert!(killed.unwrap().success());
    assert_eq!(running.wait_exit().await.to_string(), "killed by SIGKILL (signal 9)");
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_unit_that_ignores_the_request_is_killed_with_its_children() {
    let place = Place::new();
    let script = format!("trap '' TERM; cat <&0 & echo $! > child; {READY} while :; do wait; done");
    let running = place.create(&script, SERVICE).await.unwrap();
    let child: u32 = fs::read_to_string(place.dir.path().join("child")).unwrap().trim().parse().unwrap();
    let ended = running.stop(Duration::from_millis(100)).await.unwrap();
    assert_eq!(ended, Ended::Signal(9));
    until("the child of the unit ends", || !lives(child));
}

#[tokio::test]
async fn a_paused_unit_stands_still_and_can_be_stopped() {
    let place = Place::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let pid = running.pid().unwrap();
    let pausing = running.pausing().unwrap();
    pausing.pause().unwrap();
    until("the unit is stopped", || state(pid) == Some('T'));
    pausing.resume().unwrap();
    until("the unit goes on", || state(pid) != Some('T'));
    pausing.pause().unwrap();
    assert_eq!(running.stop(LONG).await.unwrap(), Ended::Signal(15), "a request reaches a paused unit too");
}

#[tokio::test]
async fn dropping_a_unit_or_its_creation_ends_it() {
    let place = Place::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let pid = running.pid().unwrap();
    drop(running);
    until("the dropped unit ends", || !lives(pid));
    let unit = place.unit("echo $$ > pid.new; mv pid.new pid; exec cat", SERVICE);
    let file = place.dir.path().join("pid");
    {
        let create = ProcessPlatform.create(&unit, &place.ledger, ignore_lines());
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
    let pid = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    until("the unit of a dropped creation ends", || !lives(pid));
}

#[tokio::test]
async fn a_sweep_removes_what_is_left_and_twice_is_fine() {
    let place = Place::new();
    let mut left = bystander();
    let folder = place.dir.path().join("data");
    place.ledger.make_directory(&folder).unwrap();
    fs::write(folder.join("file"), "x").unwrap();
    let gone = place.ledger.make_directory(&place.dir.path().join("gone")).unwrap();
    fs::remove_dir(place.dir.path().join("gone")).unwrap();
    let thing = shell(left.id(), start_ticks(left.id()));
    let entry = place.ledger.will(Thing::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, thing.clone()).unwrap();
    let swept = place.sweep().await;
    assert_eq!(swept.removed, [thing, Thing::Directory { path: folder.clone() }], "the process goes first");
    assert_eq!(swept.already_gone.len(), 1);
    assert!(swept.failed.is_empty() && !folder.exists() && gone.number() < entry.number());
    assert_eq!(Ended::from(left.wait().unwrap()), Ended::Signal(9));
    assert!(place.sweep().await.is_empty());
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_number_that_was_given_to_another_process_is_left_alone() {
    let place = Place::new();
    let mut other = bystander();
    let entry = place.ledger.will(Thing::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, shell(other.id(), start_ticks(other.id()) - 1)).unwrap();
    let swept = place.sweep().await;
    assert_eq!((swept.removed.len(), swept.already_gone.len()), (0, 1));
    assert!(lives(other.id()) && other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn a_process_whose_number_was_never_noted_is_found_by_its_mark() {
    let place = Place::new();
    let entry = place.ledger.will(Thing::Process { program: "/bin/cat".into(), id: None }).unwrap();
    let mark = |n: u64| format!("{}#{n}", place.ledger.path().display());
    let start = |mark: String| {
        let mut command = Command::new("/bin/cat");
        command.env("BAROGRAPH_MARK", mark).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let (mut ours, mut theirs) = (start(mark(entry.number())), start(mark(entry.number() + 1)));
    assert_eq!(place.sweep().await.removed.len(), 1);
    assert_eq!(Ended::from(ours.wait().unwrap()), Ended::Signal(9));
    assert!(theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

/// Starts the example driver with a unit that runs `script`; returns the driver and the number of the unit.
fn driver(dir: &Path, script: &str) -> (Child, u32) {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples/one_unit");
    assert!(program.exists(), "`cargo test` builds the example {}", program.display());
    let mut driver = Command::new(program)
        .args([dir.join("ledger.jsonl"), dir.join("log")])
        .arg(script)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(driver.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = line.trim().parse().unwrap_or_else(|_| panic!("the driver said {line:?}"));
    (driver, pid)
}

#[tokio::test]
async fn a_killed_driver_takes_a_unit_along_that_watches_stdin() {
    let dir = tempfile::tempdir().unwrap();
    let (mut driver, unit) = driver(dir.path(), &format!("{READY} exec cat > /dev/null"));
    assert!(lives(unit));
    driver.kill().unwrap();
    driver.wait().unwrap();
    until("the unit sees the end of its stdin", || !lives(unit));
}

#[tokio::test]
async fn what_a_killed_driver_leaves_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let (mut driver, unit) = driver(dir.path(), &format!("{READY} while :; do sleep 1000; done"));
    let path = dir.path().join("ledger.jsonl");
    assert!(Ledger::open(&path).is_err(), "nobody may sweep below a living driver");
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert!(lives(unit), "it does not watch its stdin");
    let ledger = Ledger::open(&path).unwrap();
    let swept = ProcessPlatform.sweep(&ledger).await.unwrap();
    assert_eq!((swept.removed.len(), swept.failed.len()), (1, 0));
    until("the unit is gone", || !lives(unit));
    assert!(ProcessPlatform.sweep(&ledger).await.unwrap().is_empty());
}
