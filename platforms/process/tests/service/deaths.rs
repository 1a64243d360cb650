//! A driver killed at any moment leaves nothing that a sweep does not remove.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use barograph_platform::{Ledger, LedgerError, Platform, SiteSpec};
use barograph_platform_process::{Local, ProcessPlatform};

use crate::place::{LONG, READY, groups_of, lives, processes_naming, until};

fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples/process_program");
    assert!(program.exists(), "`cargo test` builds the example {}", program.display());
    program
}

/// Starts the example driver with a unit that runs `script`; returns the driver and the number of the unit.
fn driver(dir: &Path, script: &str) -> (Child, u32) {
    let mut driver = Command::new(program())
        .arg("one_unit")
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
    // Its control groups stay, as nothing removes them.
    sweep_all(dir.path(), "a unit that watches its stdin").await;
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
    assert!(swept.failed.is_empty() && !swept.removed.is_empty(), "{swept:?}");
    until("the unit is gone", || !lives(unit));
    assert!(ProcessPlatform.sweep(&ledger).await.unwrap().is_empty());
}

/// Starts the driver of a whole site.
fn whole_site(dir: &Path, hold: &str) -> Child {
    let mut command = Command::new(program());
    command.arg("whole_site");
    let said = fs::File::create(dir.join("said")).unwrap();
    command.arg(dir).arg(hold).stdin(Stdio::piped()).stdout(said).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn has_said(dir: &Path, word: &str) -> bool {
    fs::read_to_string(dir.join("said")).unwrap().lines().any(|line| line == word)
}

fn ledger_lines(dir: &Path) -> usize {
    fs::read(dir.join("ledger.jsonl")).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// Sweeps twice after a driver, and checks that nothing is left.
async fn sweep_all(dir: &Path, moment: &str) {
    let start = Instant::now();
    // A child that has not executed its program yet still holds the ledger.
    let ledger = loop {
        match Ledger::open(dir.join("ledger.jsonl")) {
            Err(LedgerError::InUse { .. }) if start.elapsed() < LONG => tokio::task::yield_now().await,
            other => break other.unwrap(),
        }
    };
    let swept = ProcessPlatform.sweep(&ledger).await.unwrap();
    assert!(swept.failed.is_empty(), "{moment}: {swept:?}");
    assert_eq!(processes_naming(dir), Vec::<String>::new(), "{moment}");
    assert_eq!(groups_of(dir), Vec::<PathBuf>::new(), "{moment}");
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.retain(|name| !["ledger.jsonl", "log", "said"].iter().any(|kept| name == kept));
    assert!(files.is_empty(), "{moment}: {files:?}");
    assert!(ProcessPlatform.sweep(&ledger).await.unwrap().is_empty(), "{moment}: twice is fine");
    assert_eq!(ledger.left(), [], "{moment}");
}

/// Kills the driver after each line of its ledger, and sweeps.
async fn killed_after_each_line(hold: &str) {
    let spec = SiteSpec { options: vec![("hold".to_owned(), hold.to_owned())], ..SiteSpec::default() };
    if let Err(missing) = Local::look(&spec) {
        return say_skipped(hold, &missing[0].to_string());
    }
    let (ready, all) = whole_life(hold);
    assert!(ready > 8 && all > ready, "{ready} and {all} lines");
    for lines in 0..=all {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = whole_site(dir.path(), hold);
        let mut last = "ready";
        if lines > ready {
            // These lines come when it stops.
            until("the driver is ready", || has_said(dir.path(), "ready"));
            driver.stdin.take().unwrap().write_all(b"\n").unwrap();
            last = "closed";
        }
        // A process that ends at once has one line less.
        until("the driver writes", || ledger_lines(dir.path()) >= lines || has_said(dir.path(), last));
        driver.kill().unwrap();
        driver.wait().unwrap();
        sweep_all(dir.path(), &format!("{hold}, killed after {lines} lines of {all}")).await;
    }
}

/// Returns the number of lines when the site is ready, and of a whole life, which leaves nothing.
fn whole_life(hold: &str) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut driver = whole_site(dir.path(), hold);
    until("the driver is ready", || has_said(dir.path(), "ready"));
    let ready = ledger_lines(dir.path());
    driver.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(driver.wait().unwrap().success());
    assert!(has_said(dir.path(), "closed"));
    assert_eq!(processes_naming(dir.path()), Vec::<String>::new());
    assert_eq!(groups_of(dir.path()), Vec::<PathBuf>::new());
    assert!(!dir.path().join("site").exists() && !dir.path().join("data").exists());
    (ready, ledger_lines(dir.path()))
}

#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn say_skipped(hold: &str, why: &str) {
    println!("skipped {hold}: {why}");
}

#[tokio::test]
async fn nothing_is_left_of_a_driver_that_was_killed_at_any_line_with_control_groups() {
    killed_after_each_line("control-group").await;
}

#[tokio::test]
async fn nothing_is_left_of_a_driver_that_was_killed_at_any_line_with_namespaces() {
    killed_after_each_line("namespace").await;
}
