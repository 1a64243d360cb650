//! The end of a test's process ends its services.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use barograph_test_services::{self as services, or_skip};

use crate::{gone, process, until};

/// Variable set for the process to be killed.
const VICTIM: &str = "BAROGRAPH_SERVICES_VICTIM";

/// Beginning of the victim's line with process numbers.
const RUNNING: &str = "running: ";

/// Not a test by itself: the one below runs only this in another process of this program, and kills it.
#[test]
#[expect(clippy::disallowed_methods, reason = "it tells the victim from the test")]
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let Some(service) = or_skip(services::nats()) else { return };
    let second = services::nginx("events {} http { {temp_paths} server { listen 127.0.0.1:{port}; } }", &[]);
    let pids: Vec<u32> = [service.pids(), second.as_ref().map(|s| s.pids()).unwrap_or_default()].concat();
    let words: Vec<String> = pids.iter().map(u32::to_string).collect();
    println!("{RUNNING}{} {}", service.folder().display(), words.join(" "));
    // Until it is killed.
    std::io::stdin().lines().next();
}

#[test]
fn a_killed_test_leaves_nothing_behind() {
    let Some(probe) = or_skip(services::nats()) else { return };
    drop(probe);
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::victim", "--nocapture"])
        .env(VICTIM, "yes")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line =
        lines.into_iter().find_map(|l| l.split_once(RUNNING).map(|(_, rest)| rest.to_owned())).unwrap();
    let mut words = line.split(' ');
    let folder = PathBuf::from(words.next().unwrap());
    let pids: Vec<u32> = words.map(|word| word.parse().unwrap()).collect();
    assert!(folder.is_dir() && pids.iter().all(|pid| process(*pid).is_some()), "{line}");
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("all is gone", || {
        (pids.iter().all(|pid| process(*pid).is_none()) && !folder.exists()).then_some(())
    });
}

#[test]
fn a_panic_ends_the_service() {
    let Some(service) = or_skip(services::nats()) else { return };
    let pids = service.pids();
    let panicked = std::thread::spawn(move || {
        assert!(service.url().is_empty(), "as a failing test does");
    });
    assert!(panicked.join().is_err());
    gone(&pids);
}
