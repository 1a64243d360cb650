//! A driver that is killed at any step, or gives up on the way, leaves nothing after a sweep.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use barograph_platform::{HostSpec, Ledger, LedgerError, Platform, SiteSpec, SweepResult};
use barograph_platform_process::ProcessPlatform;

use crate::place::{LONG, host, platform};
use crate::shared::{can_have_an_engine, fresh_id, say};

/// Path of the example beside this test.
fn one_site() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let example = own.parent().unwrap().parent().unwrap().join("examples/one_site");
    assert!(example.is_file(), "{} is built with the tests", example.display());
    example
}

/// All sweeps, in the order of `barograph clean`.
async fn sweep_all(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let mut swept = platform().sweep(ledger).await?;
    swept.append(ProcessPlatform.sweep(ledger).await?);
    swept.append(barograph_virtual_network::sweep(ledger).await?);
    Ok(swept)
}

/// Everything on this machine that names a site or its folder.
fn traces(id: &str, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let marks = [id.to_owned(), folder.display().to_string()];
    let names = |text: &str| marks.iter().any(|mark| text.contains(mark.as_str()));
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if pid.parse::<u32>().is_err() || pid == std::process::id().to_string() {
            continue;
        }
        for file in ["cmdline", "cgroup"] {
            let text = fs::read(entry.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).replace('\0', " ");
            if names(&text) {
                found.push(format!("process {pid}: {text}"));
            }
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    found.extend(mounts.lines().filter(|line| names(line)).map(|line| format!("mount {line}")));
    let namespaces = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    found.extend(namespaces.map(|n| n.path().display().to_string()).filter(|path| names(path)));
    for tree in fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
        let groups = fs::read_dir(tree.path()).into_iter().flatten().flatten();
        found.extend(groups.map(|g| g.path().display().to_string()).filter(|path| names(path)));
    }
    found
}

/// Routes and devices of switches on this machine.
fn routes() -> Vec<String> {
    let shown = Command::new("ip").args(["-4", "route"]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap().lines().map(str::to_owned).collect()
}

struct Driver {
    child: Child,
    id: String,
    dir: tempfile::TempDir,
}

impl Driver {
    fn start() -> Self {
        let (id, dir) = (fresh_id("ctk"), tempfile::tempdir().unwrap());
        let child = Command::new(one_site())
            .args([id.as_str(), &dir.path().display().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Driver { child, id, dir }
    }

    fn ledger_text(&self) -> String {
        fs::read_to_string(self.dir.path().join("ledger.jsonl")).unwrap_or_default()
    }

    /// Waits until the ledger has a line with both words, or the driver ends.
    fn until_noted(&mut self, event: &str, kind: &str) -> bool {
        let begin = Instant::now();
        let noted = |text: &str| {
            text.lines().any(|line| line.contains(&format!("\"{event}\"")) && line.contains(kind))
        };
        while !noted(&self.ledger_text()) {
            assert!(begin.elapsed() < LONG, "never noted: {event} {kind}\n{}", self.ledger_text());
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A process that the driver was just starting holds the ledger until it executes its program.
async fn open_of_killed(path: &Path) -> Ledger {
    let begin = Instant::now();
    loop {
        match Ledger::open(path) {
            Err(LedgerError::InUse { .. }) if begin.elapsed() < LONG => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            opened => return opened.unwrap(),
        }
    }
}

/// An ended process has a line in /proc until its new parent has collected it.
async fn no_traces(driver: &Driver, when: &str) {
    let begin = Instant::now();
    loop {
        let left = traces(&driver.id, driver.dir.path());
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < LONG, "{when}: {left:#?}");
        tokio::task::yield_now().await;
    }
}

/// Sweeps twice and checks that nothing of the site is left.
async fn nothing_is_left(driver: &Driver, when: &str) {
    let path = driver.dir.path().join("ledger.jsonl");
    let ledger = open_of_killed(&path).await;
    let swept = sweep_all(&ledger).await.unwrap();
    assert!(swept.failed.is_empty(), "{when}: {:?}", swept.failed);
    assert!(ledger.left().is_empty(), "{when}: {:?}", ledger.left());
    assert!(sweep_all(&ledger).await.unwrap().is_empty(), "{when}: a second sweep finds nothing");
    no_traces(driver, when).await;
    let routes = routes();
    let own = routes.iter().filter(|route| driver.routes_of(route)).collect::<Vec<_>>();
    assert!(own.is_empty(), "{when}: {own:?}");
    let files: Vec<String> = fs::read_dir(driver.dir.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "ledger.jsonl" && !name.ends_with(".log"))
        .collect();
    assert!(files.is_empty(), "{when}: {files:?}");
}

impl Driver {
    /// Whether a route goes through a device in the driver's ledger.
    fn routes_of(&self, route: &str) -> bool {
        let text = self.ledger_text();
        let device = route.split_once(" dev ").and_then(|(_, rest)| rest.split(' ').next());
        device.is_some_and(|device| text.contains(&format!("\"{device}\"")))
    }
}

/// Kinds of things in the order of their creation, with their entries.
const STEPS: [(&str, &str); 13] = [
    ("will", "\"namespace\""),
    ("created", "\"link\""),
    ("will", "\"engine\",\"folder\""),
    ("created", "\"engine\",\"folder\""),
    ("will", "\"cgroup\""),
    ("will", "\"image\""),
    ("created", "\"image\""),
    ("will", "\"container_network\""),
    ("created", "\"container_network\""),
    ("will", "bg-host-"),
    ("created", "bg-host-"),
    ("will", "-service\""),
    ("created", "-job\""),
];

async fn killed_at(steps: &[(&str, &str)]) {
    if !can_have_an_engine() {
        return;
    }
    for (event, kind) in steps {
        let mut driver = Driver::start();
        let there = driver.until_noted(event, kind);
        assert!(there, "the driver ended by itself:\n{}", driver.ledger_text());
        driver.kill();
        nothing_is_left(&driver, &format!("killed when {event} {kind} was noted")).await;
    }
}

#[tokio::test]
async fn a_driver_that_is_killed_early_leaves_nothing() {
    killed_at(&STEPS[..6]).await;
}

#[tokio::test]
async fn a_driver_that_is_killed_late_leaves_nothing() {
    killed_at(&STEPS[6..]).await;
}

#[tokio::test]
async fn a_driver_that_is_killed_when_all_is_ready_or_after_a_good_end_leaves_nothing() {
    if !can_have_an_engine() {
        return;
    }
    for ends_well in [false, true] {
        let mut driver = Driver::start();
        let begin = Instant::now();
        let mut lines = BufReader::new(driver.child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        say(&format!("two hosts, a service and a job were ready after {:?}", begin.elapsed()));
        assert!(!traces(&driver.id, driver.dir.path()).is_empty());
        if ends_well {
            let begin = Instant::now();
            drop(driver.child.stdin.take());
            assert_eq!(lines.next().unwrap().unwrap(), "closed");
            say(&format!("all was removed after {:?}", begin.elapsed()));
            assert!(driver.child.wait().unwrap().success());
            no_traces(&driver, "ended well").await;
        } else {
            driver.kill();
        }
        nothing_is_left(&driver, "killed when ready, or ended well").await;
    }
}

#[tokio::test]
async fn an_opening_that_is_given_up_leaves_nothing() {
    if !can_have_an_engine() {
        return;
    }
    for patience_ms in [20, 150, 400, 800, 1300] {
        let (id, dir) = (fresh_id("ctg"), tempfile::tempdir().unwrap());
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let hosts: Vec<HostSpec> = vec![host("a"), host("b")];
        let spec = SiteSpec { id: id.clone(), folder: dir.path().join("site"), hosts, ..SiteSpec::default() };
        let platform = platform();
        let opening = tokio::time::timeout(Duration::from_millis(patience_ms), platform.open(&spec, &ledger));
        let opened = opening.await.is_ok();
        say(&format!(
            "after {patience_ms} ms the site was {}",
            if opened { "open, and dropped" } else { "given up" }
        ));
        // Removals by tasks and by a sweep must not disturb each other.
        let begin = Instant::now();
        let mut swept = sweep_all(&ledger).await.unwrap();
        while !ledger.left().is_empty() || !swept.failed.is_empty() {
            assert!(begin.elapsed() < LONG, "{patience_ms} ms: {swept:?} {:?}", ledger.left());
            tokio::time::sleep(Duration::from_millis(20)).await;
            swept = sweep_all(&ledger).await.unwrap();
        }
        let mut left = traces(&id, dir.path());
        while !left.is_empty() && begin.elapsed() < LONG {
            tokio::time::sleep(Duration::from_millis(20)).await;
            left = traces(&id, dir.path());
        }
        assert!(left.is_empty(), "{patience_ms} ms: {left:#?}");
    }
}
