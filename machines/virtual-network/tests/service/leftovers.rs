//! Leftovers after a kill, and functions without root.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use barograph_platform::{Ledger, Resource};
use barograph_virtual_network::sweep;
use tempfile::TempDir;

use crate::place::{TestSwitch, echo, new_id, possible, program, talks, tell, until};

const STEPS: [&str; 8] = ["host=a", "host=b", "limit=a", "delay=a", "tap=g", "cut=b", "delay=g", "host=c"];

fn start(dir: &Path, id: &str, steps: &[&str]) -> Child {
    Command::new(program())
        .arg("steps")
        .arg(dir.join("ledger.jsonl"))
        .arg(id)
        .args(steps)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Everything on this machine with the name of the site, the ledger or the leg: names of namespaces, devices,
/// routes, mounts, processes.
fn listing(id: &str, ledger: &Path, legs: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let site = format!("bg-{id}");
    let texts = [
        said("ip", &["netns", "list"]),
        said("ip", &["-o", "link", "show"]),
        said("ip", &["-4", "route", "show", "table", "all"]),
        fs::read_to_string("/proc/self/mountinfo").unwrap(),
    ];
    let ours = |line: &&str| line.contains(&site) || legs.iter().any(|leg| line.contains(leg.as_str()));
    found.extend(texts.iter().flat_map(|text| text.lines().filter(ours)).map(str::to_owned));
    let mark = ledger.to_string_lossy().into_owned();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environ).contains(&format!("BAROGRAPH_MARK={mark}")) {
            found.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

fn legs(ledger: &Path) -> Vec<String> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    let words = text.split('"').map(str::to_owned);
    words.filter(|w| w.len() == 14 && w.starts_with("bg") && !w.contains('-')).collect()
}

/// Kills the driver, sweeps as `barograph clean` does, and compares.
async fn killed_leaves_nothing(dir: &TempDir, id: &str, mut driver: Child, when: &str) {
    driver.kill().unwrap();
    driver.wait().unwrap();
    let path = dir.path().join("ledger.jsonl");
    if !path.exists() {
        return;
    }
    let legs = legs(&path);
    // A child that is just being started, even in another test, holds the ledger's file for an instant. An
    // opened ledger is kept, as the next attempt might fail again.
    let mut opened = None;
    until("the ledger free", || {
        opened = Ledger::open(&path).ok();
        opened.is_some()
    });
    let ledger = opened.unwrap();
    let swept = sweep(&ledger).await.unwrap();
    assert!(swept.failed.is_empty(), "{when}: {swept:?}");
    let again = sweep(&ledger).await.unwrap();
    assert!(again.is_empty(), "{when}: {again:?}");
    let others = ledger.left().iter().filter(|l| !matches!(l.thing, Resource::Process { .. })).count();
    assert_eq!(others, 0, "{when}");
    // Relays end because their stdin has ended; devices disappear when the kernel removes their namespace.
    until(when, || listing(id, &path, &legs).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_killed_after_each_step_leaves_nothing() {
    if !possible() {
        return;
    }
    for count in 0..=STEPS.len() {
        let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
        let mut driver = start(dir.path(), &id, &STEPS[..count]);
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        for _ in 0..=count {
            lines.next().unwrap().unwrap();
        }
        let path = dir.path().join("ledger.jsonl");
        assert!(!listing(&id, &path, &legs(&path)).is_empty(), "there is something to remove");
        killed_leaves_nothing(&dir, &id, driver, &format!("after {count} steps")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_killed_amid_its_steps_leaves_nothing() {
    if !possible() {
        return;
    }
    // One moment for each line of the ledger: the driver is killed as soon as the line is there, in the
    // middle of what it announces. The switch and its leg have four, each of three hosts two, each of two
    // relays one.
    for wanted in 1..=12 {
        let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
        let driver = start(dir.path(), &id, &STEPS);
        let path = dir.path().join("ledger.jsonl");
        until("a line of the ledger", || {
            fs::read_to_string(&path).is_ok_and(|text| text.lines().count() >= wanted)
        });
        killed_leaves_nothing(&dir, &id, driver, &format!("at line {wanted}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_in_which_a_process_sits_goes_all_the_same() {
    let Some(place) = TestSwitch::new().await else { return };
    let host = place.host("a").await;
    talks(None, echo(Some(&host.namespace), host.address));
    let words = barograph_virtual_network::enter(&host.namespace);
    let mut sitter = Command::new(&words[0])
        .args(&words[1..])
        .args(["/bin/cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It is inside the namespace when it answers.
    std::io::Write::write_all(sitter.stdin.as_mut().unwrap(), b"x").unwrap();
    sitter.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let (path, id) = (place.ledger.path().to_owned(), place.id.clone());
    let legs = legs(&path);
    place.switch.close().await.unwrap();
    assert_eq!(listing(&id, &path, &legs), Vec::<String>::new());
    assert!(sitter.try_wait().unwrap().is_none(), "the process is others' to end");
    sitter.kill().unwrap();
    sitter.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_switch_leaves_nothing() {
    let Some(place) = TestSwitch::new().await else { return };
    place.host("a").await;
    let (path, id) = (place.ledger.path().to_owned(), place.id.clone());
    let legs = legs(&path);
    drop(place.switch);
    until("everything gone", || listing(&id, &path, &legs).is_empty());
    assert!(place.ledger.left().is_empty());
}

#[test]
fn the_switch_works_without_root() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).args(args);
        command
    };
    let program = program().to_string_lossy().into_owned();
    if !nobody(&["test", "-x", &program]).status().is_ok_and(|s| s.success()) {
        tell(&format!("skipped: user nobody may not read {program}"));
        return;
    }
    if !nobody(&["unshare", "--user", "--map-root-user", "--net", "--mount", "true"])
        .status()
        .unwrap()
        .success()
    {
        tell("skipped: this machine has no user namespaces for user nobody");
        return;
    }
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let ledger = dir.path().join("ledger.jsonl").to_string_lossy().into_owned();
    let id = new_id();
    let run = |steps_and: &[&str]| {
        let mut words = vec![program.as_str(), "steps", &ledger, &id];
        words.extend(steps_and);
        nobody(&words).stdin(Stdio::null()).output().unwrap()
    };
    let done =
        run(&["host=a", "host=b", "talk=a,b", "limit=a", "talk=b,a", "cut=a", "heal", "talk=a,b", "close"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).ends_with("talk=a,b\nclose\n"));
    let may_tun =
        nobody(&["sh", "-c", "exec 3<>/dev/net/tun"]).stderr(Stdio::null()).status().unwrap().success();
    let delayed = run(&["host=a", "host=b", "delay=a", "talk=a,b", "close"]);
    let says = String::from_utf8_lossy(&delayed.stderr).into_owned();
    assert_eq!(delayed.status.success(), may_tun, "{says}");
    if !may_tun {
        tell(&format!("a delay needs /dev/net/tun, which user nobody may not open here: {says}"));
        assert!(says.contains("/dev/net/tun"), "{says}");
    }
    // A relay ends a moment after its switch.
    until("everything gone", || listing(&id, Path::new(&ledger), &[]).is_empty());
}
