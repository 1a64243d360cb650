//! Leftovers of a killed driver, and functions without root.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use barograph_platform::{Ledger, Platform, SiteSpec};
use barograph_platform_process::ProcessPlatform;

use crate::place::{listing, new_id, own_program, platform, possible, tell, until};

struct Driver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

fn start(mut command: Command, dir: &Path, id: &str, delay_ms: &str) -> Driver {
    let mut child = command
        .arg("drive")
        .arg(dir.join("ledger.jsonl"))
        .arg(id)
        .arg(dir.join("site"))
        .arg(delay_ms)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    Driver { child, lines }
}

impl Driver {
    fn until(&mut self, wanted: &str) {
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line == wanted {
                return;
            }
            seen.push(line);
        }
        panic!("ended without `{wanted}`: {seen:#?}");
    }
}

/// As `barograph clean` does: first processes, then networks.
async fn clean(path: &Path, id: &str, when: &str) {
    // A child that was just being started holds the ledger's file for an instant.
    until("the ledger free", || Ledger::open(path).is_ok());
    let ledger = Ledger::open(path).unwrap();
    for _ in 0..2 {
        for swept in [ProcessPlatform.sweep(&ledger).await.unwrap(), platform().sweep(&ledger).await.unwrap()]
        {
            assert!(swept.failed.is_empty(), "{when}: {swept:?}");
        }
    }
    assert!(ledger.left().is_empty(), "{when}: {:?}", ledger.left());
    until(when, || listing(id, path).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_driver_leaves_nothing_after_the_sweeps() {
    if !possible(&SiteSpec::default()).await {
        return;
    }
    for delay_ms in ["0", "2"] {
        let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
        let mut driver = start(Command::new(own_program()), dir.path(), &id, delay_ms);
        driver.until("up");
        let path = dir.path().join("ledger.jsonl");
        assert!(listing(&id, &path).len() > 6, "{:?}", listing(&id, &path));
        driver.child.kill().unwrap();
        driver.child.wait().unwrap();
        clean(&path, &id, "killed when everything was up").await;
        assert!(!dir.path().join("site").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_killed_while_it_opens_leaves_nothing_after_the_sweeps() {
    if !possible(&SiteSpec::default()).await {
        return;
    }
    for wanted in [1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] {
        let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
        let mut driver = start(Command::new(own_program()), dir.path(), &id, "0");
        let path = dir.path().join("ledger.jsonl");
        until("a line of the ledger", || {
            fs::read_to_string(&path).is_ok_and(|text| text.lines().count() >= wanted)
        });
        driver.child.kill().unwrap();
        driver.child.wait().unwrap();
        clean(&path, &id, &format!("killed at line {wanted}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_opens_and_closes_without_root() {
    if !possible(&SiteSpec::default()).await {
        return;
    }
    let program = own_program().to_string_lossy().into_owned();
    let nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).args(words);
        command
    };
    let may = |words: &[&str]| nobody(words).status().is_ok_and(|status| status.success());
    if !may(&["test", "-x", &program]) {
        return tell(&format!("skipped: user nobody may not read {program}"));
    }
    if !may(&["unshare", "--user", "--map-root-user", "--net", "--mount", "true"]) {
        return tell("skipped: this machine has no user namespaces for user nobody");
    }
    let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut driver = start(nobody(&[&program]), dir.path(), &id, "0");
    driver.until("up");
    let path = dir.path().join("ledger.jsonl");
    assert!(
        !listing(&id, &path).iter().any(|line| line.contains("10.")),
        "the machine's routes are as they were"
    );
    drop(driver.child.stdin.take());
    driver.until("down");
    assert!(driver.child.wait().unwrap().success());
    until("everything gone", || listing(&id, &path).is_empty());
    // And is killed.
    let (dir, id) = (tempfile::tempdir().unwrap(), new_id());
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut driver = start(nobody(&[&program]), dir.path(), &id, "0");
    driver.until("up");
    driver.child.kill().unwrap();
    driver.child.wait().unwrap();
    clean(&dir.path().join("ledger.jsonl"), &id, "killed without root").await;
}
