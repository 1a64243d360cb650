//! A sweep removes everything that a ledger still names, and nothing else.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Child, Command, Stdio};

use barograph_platform::{ProcessId, Resource, UnitExit};

use crate::place::{
    TestSite, children, lives, start_ticks, state, ticks, until, until_async, until_environ_has,
};

pub(crate) fn shell(pid: u32, start_ticks: u64) -> Resource {
    Resource::Process { program: "/bin/sh".into(), id: Some(ProcessId { pid, start_ticks }) }
}

fn bystander() -> Child {
    Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
}

#[tokio::test]
async fn a_sweep_removes_what_is_left_and_twice_is_fine() {
    let place = TestSite::new();
    let mut left = bystander();
    let folder = place.dir.path().join("data");
    place.ledger.make_directory(&folder).unwrap();
    fs::write(folder.join("file"), "x").unwrap();
    let gone = place.ledger.make_directory(&place.dir.path().join("gone")).unwrap();
    fs::remove_dir(place.dir.path().join("gone")).unwrap();
    let thing = shell(left.id(), start_ticks(left.id()));
    let entry = place.ledger.will(Resource::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, thing.clone()).unwrap();
    let swept = place.sweep().await;
    assert_eq!(
        swept.removed,
        [thing, Resource::Directory { path: folder.clone() }],
        "the process goes first"
    );
    assert_eq!(swept.already_gone.len(), 1);
    assert!(swept.failed.is_empty() && !folder.exists() && gone.number() < entry.number());
    assert_eq!(UnitExit::from(left.wait().unwrap()), UnitExit::Signal(9));
    assert!(place.sweep().await.is_empty());
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_number_that_was_given_to_another_process_is_left_alone() {
    let place = TestSite::new();
    let mut other = bystander();
    let entry = place.ledger.will(Resource::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, shell(other.id(), start_ticks(other.id()) - 1)).unwrap();
    let swept = place.sweep().await;
    assert_eq!((swept.removed.len(), swept.already_gone.len()), (0, 1));
    assert!(lives(other.id()) && other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn a_process_whose_number_was_never_noted_is_found_by_its_mark() {
    let place = TestSite::new();
    let entry = place.ledger.will(Resource::Process { program: "/bin/cat".into(), id: None }).unwrap();
    let mark = |n: u64| format!("{}#{n}", place.ledger.path().display());
    let start = |mark: String| {
        let mut command = Command::new("/bin/cat");
        command.env("BAROGRAPH_MARK", &mark).stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        until_environ_has(child.id(), &format!("BAROGRAPH_MARK={mark}"));
        child
    };
    let (mut ours, mut theirs) = (start(mark(entry.number())), start(mark(entry.number() + 1)));
    assert_eq!(place.sweep().await.removed.len(), 1);
    assert_eq!(UnitExit::from(ours.wait().unwrap()), UnitExit::Signal(9));
    assert!(theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

#[tokio::test]
async fn a_process_that_is_just_becoming_its_program_is_found() {
    let place = TestSite::new();
    // Each is met at a different moment; some have no environment yet.
    for _ in 0..50 {
        let entry = place.ledger.will(Resource::Process { program: "/bin/cat".into(), id: None }).unwrap();
        let mut command = Command::new("/bin/cat");
        command.env("BAROGRAPH_MARK", place.ledger.mark(entry)).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let swept = place.sweep().await;
        assert_eq!(swept.removed.len(), 1, "{swept:?}");
        assert_eq!(UnitExit::from(child.wait().unwrap()), UnitExit::Signal(9));
    }
}

/// Its first thread ends, and its other one reports that and continues.
const HEADLESS: &str = "
import ctypes, sys, threading

leave = ctypes.CDLL(None).pthread_exit

def rest():
    while ') Z ' not in open('/proc/self/stat').read():
        pass
    print(end='x', flush=True)
    sys.stdin.read()

threading.Thread(target=rest).start()
leave(None)
";

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
async fn a_process_that_has_lost_its_first_thread_is_found_by_its_mark() {
    let place = TestSite::new();
    let entry = place.ledger.will(Resource::Process { program: "/bin/sh".into(), id: None }).unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", HEADLESS]).env("BAROGRAPH_MARK", place.ledger.mark(entry));
    python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = python.spawn() else {
        println!("skipped: no python3 on this machine");
        return;
    };
    if child.stdout.as_mut().unwrap().read_exact(&mut [0]).is_err() {
        println!("skipped: python3 on this machine has no ctypes");
        child.wait().unwrap();
        return;
    }
    assert_eq!(state(child.id()), Some('Z'));
    let swept = place.sweep().await;
    assert_eq!((swept.removed.len(), swept.failed.len()), (1, 0), "{swept:?}");
    assert_eq!(UnitExit::from(child.wait().unwrap()), UnitExit::Signal(9));
}

/// Leftovers of a killed run in a process namespace. One process in it was brought from outside: its end must
/// be noticed by its parent outside, which is stopped. Until then the first process of the namespace is
/// exiting.
struct StuckUnit {
    began: Child,
    first: u32,
    bringer: Child,
    brought: u32,
}

impl StuckUnit {
    fn new(mark: &str) -> Self {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child=KILL", "--", "/bin/sh", "-c", "cat; exit 0"]);
        unshare.env("BAROGRAPH_MARK", mark).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let began = unshare.spawn().unwrap();
        until("the first process of a namespace", || !children(began.id()).is_empty());
        let first = children(began.id())[0];
        until_environ_has(first, &format!("BAROGRAPH_MARK={mark}"));
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["--target", &first.to_string(), "--pid", "--", "/bin/cat"]);
        let mut bringer = nsenter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        bringer.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        bringer.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let brought = children(bringer.id())[0];
        let stuck = StuckUnit { began, first, bringer, brought };
        signal("-STOP", &stuck.bringer.id().to_string());
        until("the one that notices stands still", || state(stuck.bringer.id()) == Some('T'));
        stuck
    }

    /// Waits until it was killed, and has stayed for a while.
    async fn stays(&self) {
        until_async("the end of what was brought", || state(self.brought) == Some('Z')).await;
        // Time passes for others: this loop uses CPU time of its own.
        let start = ticks(std::process::id());
        until_async("time passes", || ticks(std::process::id()) > start + 10).await;
    }
}

impl Drop for StuckUnit {
    fn drop(&mut self) {
        for child in [&mut self.bringer, &mut self.began] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn signal(which: &str, whom: &str) {
    assert!(Command::new("kill").args([which, "--", whom]).status().unwrap().success());
}

/// Whether this user can create process namespaces; prints it if not.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn namespaces_or_skip() -> bool {
    let mut unshare = Command::new("unshare");
    let tried = unshare.args(["--pid", "--fork", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        println!("skipped: this user may not make a namespace of processes");
    }
    can
}

#[tokio::test]
async fn a_sweep_waits_until_a_namespace_of_processes_is_empty() {
    if !namespaces_or_skip() {
        return;
    }
    for killed_before in [false, true] {
        let place = TestSite::new();
        let entry = place.ledger.will(Resource::Process { program: "/bin/sh".into(), id: None }).unwrap();
        let mut stuck = StuckUnit::new(&place.ledger.mark(entry));
        let began = stuck.began.id();
        place.ledger.done(entry, shell(began, start_ticks(began))).unwrap();
        if killed_before {
            // As after a kill of a run, or of a sweep, during the removal of its units.
            signal("-KILL", &format!("-{began}"));
            stuck.began.wait().unwrap();
            until("the end of what was brought", || state(stuck.brought) == Some('Z'));
        }
        let mut sweep = pin!(place.sweep());
        tokio::select! {
            biased;
            swept = &mut sweep => panic!("{swept:?}, and the namespace is not empty"),
            () = stuck.stays() => {}
        }
        assert!(lives(stuck.first));
        signal("-CONT", &stuck.bringer.id().to_string());
        let swept = sweep.await;
        assert_eq!((swept.removed.len(), swept.failed.len()), (1, 0), "{swept:?}");
        assert!(!lives(stuck.first) && place.ledger.left().is_empty());
    }
}
