//! The supervisor as a process, with real commands: exit status, accounts, output, and what is left.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

/// Burns about a tenth of a second.
const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";

/// Starts the supervisor of a command.
fn supervised(words: &[&str]) -> Child {
    let test = std::env::current_exe().unwrap();
    let examples = test.parent().and_then(Path::parent).unwrap().join("examples");
    let mut supervisor = Command::new(examples.join("supervisor_program"));
    supervisor.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn go(child: &mut Child) {
    let mut ready = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(ready, *b"\n");
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
}

/// Report on a command.
fn report(words: &[&str]) -> Value {
    let mut child = supervised(words);
    go(&mut child);
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    serde_json::from_str(&line).unwrap()
}

fn shell(script: &str) -> Value {
    report(&["sh", "-c", script])
}

fn usage(report: &Value, of: &str) -> u64 {
    report["usage"][of].as_u64().unwrap()
}

/// A named pipe in a folder of its own: what is written to it orders test and command.
fn pipe() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    (folder, path)
}

fn is_gone(pid: &str) -> bool {
    test_kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap()).is_err()
}

#[test]
fn the_end_of_a_command_is_told() {
    assert_eq!(shell("exit 0")["end"]["Exited"], 0);
    let failed = shell("echo said; echo complained >&2; exit 3");
    assert_eq!((&failed["end"]["Exited"], &failed["output"]), (&3.into(), &"said\ncomplained\n".into()));
    assert_eq!(shell("kill -9 $$")["end"]["Killed"], 9);
    let missing = report(&["/no/such/program"]);
    assert!(missing["end"]["NotStarted"].as_str().unwrap().contains("No such file"), "{missing}");
}

#[test]
fn cpu_time_is_that_of_the_whole_tree() {
    let direct = shell(BUSY);
    assert!(usage(&direct, "user_us") > 5_000, "{direct}");
    let in_a_child = shell(&format!("sh -c 'sh -c \"{}\"; true'; true", BUSY.replace('$', "\\$")));
    assert!(usage(&in_a_child, "user_us") > 5_000, "{in_a_child}");
    let idle = report(&["sleep", "0.2"]);
    assert!(usage(&idle, "user_us") + usage(&idle, "system_us") < 100_000, "{idle}");
}

#[test]
fn the_time_of_a_command_is_that_from_its_start_to_its_end() {
    let mut child = supervised(&["sleep", "0.2"]);
    let before = std::time::Instant::now();
    go(&mut child);
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    child.wait().unwrap();
    let most = before.elapsed().as_micros();
    let report: Value = serde_json::from_str(&line).unwrap();
    let elapsed = u128::from(report["elapsed_us"].as_u64().unwrap());
    assert!((200_000..=most).contains(&elapsed), "{report} in {most}");
}

#[test]
fn peak_memory_is_that_of_the_largest_process_and_not_of_the_supervisor() {
    let small = report(&["true"]);
    assert!((1..8 * 1024).contains(&usage(&small, "peak_kib")), "{small}");
    let large = shell("head -c 50000000 /dev/zero | tail -c 50000000 | wc -c");
    assert_eq!(large["output"].as_str().unwrap().trim(), "50000000");
    assert!((47 * 1024..150 * 1024).contains(&usage(&large, "peak_kib")), "{large}");
}

#[test]
fn the_last_part_of_a_long_output_is_kept() {
    let long = shell("yes 0123456 | head -c 1000000; echo; echo end");
    let output = long["output"].as_str().unwrap();
    assert!(output.ends_with("\nend\n") && output.len() == 64 * 1024, "{}", output.len());
    assert_eq!(long["output_bytes"], 1_000_005);
}

#[test]
fn processes_that_a_command_leaves_behind_are_ended_and_counted() {
    let (_folder, path) = pipe();
    let path = path.display();
    let script = format!("setsid sh -c 'echo $$ > {path}; exec sleep 1000' & read pid < {path}; echo $pid");
    let left = shell(&script);
    assert_eq!((&left["end"]["Exited"], &left["left_behind"]), (&0.into(), &1.into()), "{left}");
    assert!(is_gone(left["output"].as_str().unwrap()), "{left}");
}

#[test]
fn the_end_of_the_driver_ends_the_command_and_its_descendants() {
    let (_folder, path) = pipe();
    let to = path.display();
    let script = format!("setsid sh -c 'echo $$ > {to}; exec sleep 1000' & echo $$ > {to}; wait");
    let mut child = supervised(&["sh", "-c", &script]);
    go(&mut child);
    let mut pids = String::new();
    while pids.lines().count() < 2 {
        // Each writer may come when the other has closed.
        pids.push_str(&fs::read_to_string(&path).unwrap());
    }
    drop(child.stdin.take());
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success() && line.is_empty(), "{line}");
    assert!(pids.lines().all(is_gone), "{pids}");
}

#[test]
fn a_command_that_is_not_to_begin_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made");
    let mut child = supervised(&["touch", &file.display().to_string()]);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(!file.exists());
}
