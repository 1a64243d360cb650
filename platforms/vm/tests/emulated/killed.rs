//! A process that is killed while it creates a site: after two sweeps, nothing in its ledger is left.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use barograph_platform::{Ledger, Platform, Resource, SiteSpec};
use barograph_platform_process::ProcessPlatform;
use serde_json::Value;

use crate::site::{can, program, say, spec};

/// Numbers of ledger lines at which it is killed: while it creates folders, switch, disks, emulators; while
/// guests boot.
const STEPS: &[usize] = &[1, 2, 4, 7, 10, 14, 18, 22, 26, 30, 34, 38];

/// Longest wait for a step: some first download a kernel, make images or boot a guest.
const STEP_LIMIT: Duration = Duration::from_secs(900);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_nothing_behind_two_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    if !can(&spec("killed", folder.path(), &[])).await {
        return;
    }
    for step in STEPS {
        let place = folder.path().join(step.to_string());
        std::fs::create_dir(&place).unwrap();
        let site = spec(&format!("k{step}"), &place, &["a", "b"]);
        if !kill_at(&place, &site, *step).await {
            break;
        }
    }
    let place = folder.path().join("open");
    std::fs::create_dir_all(place.join("writable")).unwrap();
    let mut site = spec("ko", &place, &["a"]);
    site.writable = vec![place.join("writable")];
    kill_at(&place, &site, usize::MAX).await;
    let place = folder.path().join("libvirt");
    std::fs::create_dir(&place).unwrap();
    let mut site = spec("kl", &place, &["a"]);
    site.options.push(("manager".to_owned(), "libvirt".to_owned()));
    if can(&site).await {
        kill_at(&place, &site, usize::MAX).await;
    }
}

/// With an empty cache: the kernel is downloaded and images are made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_while_the_cache_is_filled() {
    let folder = tempfile::tempdir().unwrap();
    if !can(&spec("killed", folder.path(), &[])).await {
        return;
    }
    for step in [4, 10, 16, 22, 28, 34, 40, 46, 52] {
        let place = folder.path().join(step.to_string());
        std::fs::create_dir(&place).unwrap();
        let mut site = spec(&format!("c{step}"), &place, &["a"]);
        let cache = folder.path().join("cache").to_str().unwrap().to_owned();
        let options = [("cache", cache.as_str()), ("accel", "tcg"), ("leave_out", "/usr /etc")];
        site.options.extend(options.map(|(name, value)| (name.to_owned(), value.to_owned())));
        kill_at(&place, &site, step).await;
        let kept = std::fs::read_dir(&cache).into_iter().flatten().flatten();
        let names: Vec<_> = kept.map(|item| item.file_name().into_string().unwrap()).collect();
        say(&format!("in the cache: {names:?}"));
        assert!(names.iter().all(|name| !name.starts_with("making-")), "{names:?}");
    }
}

/// Kills it when its ledger has `lines` lines, or when the site is open (then returns `false`), and sweeps
/// twice.
async fn kill_at(place: &Path, site: &SiteSpec, lines: usize) -> bool {
    let path = place.join("ledger");
    let mut child = begin(site, &path);
    let stdout = child.stdout.take().unwrap();
    let said = tokio::task::spawn_blocking(move || BufReader::new(stdout).lines().next());
    let begun = Instant::now();
    let reached = || std::fs::read(&path).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    while reached() < lines && !said.is_finished() {
        assert!(begun.elapsed() < STEP_LIMIT, "it stands still at {} lines", reached());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let open = said.is_finished();
    child.kill().unwrap();
    child.wait().unwrap();
    let what = if open { "once it was open".to_owned() } else { format!("at {lines} lines") };
    if open && lines == usize::MAX {
        assert_eq!(said.await.unwrap().unwrap().unwrap(), "open");
    }
    let ledger = open_ledger(&path).await;
    let (found, begun) = (ledger.left(), Instant::now());
    for round in 0..2 {
        let mut swept = ProcessPlatform.sweep(&ledger).await.unwrap();
        swept.append(barograph_virtual_network::sweep(&ledger).await.unwrap());
        assert!(swept.failed.is_empty(), "killed {what}: {:?}", swept.failed);
        assert!(round == 0 || swept.is_empty(), "the second sweep finds nothing: {swept:?}");
    }
    say(&format!("killed {what}: {} things swept in {:?}", found.len(), begun.elapsed()));
    assert_eq!(ledger.left(), []);
    for thing in named(&path) {
        assert!(!is_there(&thing), "killed {what}: {thing} is still there");
    }
    let marked =
        with_text(path.to_str().unwrap()).into_iter().chain(with_text(site.folder.to_str().unwrap()));
    assert_eq!(marked.collect::<Vec<_>>(), Vec::<String>::new(), "killed {what}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&site.id) && !mounts.contains(place.to_str().unwrap()));
    !open
}

/// A child between its fork and its program holds the lock of the ledger for that instant.
async fn open_ledger(path: &Path) -> Ledger {
    let begun = Instant::now();
    loop {
        match Ledger::open(path) {
            Ok(ledger) => return ledger,
            Err(error) => assert!(begun.elapsed() < STEP_LIMIT, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn begin(site: &SiteSpec, ledger: &Path) -> Child {
    let mut command = Command::new(program());
    command.arg("open").arg(serde_json::to_string(site).unwrap()).arg(ledger);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Everything that a ledger has ever named.
fn named(ledger: &Path) -> Vec<Resource> {
    let text = std::fs::read_to_string(ledger).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| serde_json::from_value(line.get("thing")?.clone()).ok()).collect()
}

fn is_there(thing: &Resource) -> bool {
    match thing {
        Resource::Process { id, .. } => id.is_some_and(|id| lives(id.pid)),
        Resource::Directory { path } | Resource::Cgroup { path } => path.exists(),
        Resource::Namespace { name } => Path::new("/run/netns").join(name).exists(),
        Resource::Link { name } => Path::new("/sys/class/net").join(name).exists(),
        other => panic!("{other} is not expected"),
    }
}

/// An ended process that its new parent has not collected yet does not live.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Living processes but this one with this text in their command line or environment.
fn with_text(text: &str) -> Vec<String> {
    let items = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = items.filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        })
    };
    let others = numbers.filter(|pid| *pid != std::process::id()).filter(has);
    others
        .map(|pid| {
            format!("{pid}: {}", std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default())
        })
        .collect()
}
