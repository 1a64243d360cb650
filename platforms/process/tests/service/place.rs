//! A folder with a ledger and a site, and helpers of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use barograph_cgroup::Hierarchies;
use barograph_platform::{
    Fault, HostSpec, Ledger, OnLine, Platform, Readiness, Site, SiteSpec, SweepResult, Unit, UnitHandle,
    ignore_lines,
};
use barograph_platform_process::{Local, ProcessPlatform};
use tempfile::TempDir;

pub(crate) const READY: &str = r#"echo '{"ready":true,"address":"127.0.0.1:4321"}'; "#;
/// Longer than anything that does not hang, also for starts of services on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);
pub(crate) const SERVICE: Readiness = Readiness::StdoutLine { timeout: LONG };

/// All ways of keeping a unit together.
pub(crate) const HOLDS: [&str; 3] = ["control-group", "namespace", "mark"];

/// A site on this machine, in a temporary folder. Fields are dropped in this order: the site before its
/// folder.
pub(crate) struct TestSite {
    pub(crate) site: Option<Box<dyn Site>>,
    pub(crate) ledger: Ledger,
    pub(crate) spec: SiteSpec,
    pub(crate) dir: TempDir,
}

impl TestSite {
    pub(crate) fn new() -> Self {
        Self::with(|_, _| {})
    }

    pub(crate) fn holding(hold: &str) -> Self {
        Self::with(|spec, _| spec.options.push(("hold".to_owned(), hold.to_owned())))
    }

    pub(crate) fn with(change: impl FnOnce(&mut SiteSpec, &Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let id = dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut spec = SiteSpec { id, ..SiteSpec::default() };
        change(&mut spec, dir.path());
        let site = Local::open(&spec, &ledger).with_folder().unwrap();
        TestSite { site: Some(Box::new(site)), ledger, spec, dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn site(&self) -> &dyn Site {
        &**self.site.as_ref().unwrap()
    }

    pub(crate) fn unit(&self, script: &str, ready: Readiness) -> Unit {
        Unit {
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("COLOUR".to_owned(), "green".to_owned())],
            workdir: self.dir.path().to_owned(),
            log: self.path("app.log"),
            ..Unit::new("app", "/bin/sh".into(), ready)
        }
    }

    pub(crate) async fn create(&self, script: &str, ready: Readiness) -> Result<Box<dyn UnitHandle>, Fault> {
        self.start(&self.unit(script, ready)).await
    }

    pub(crate) async fn start(&self, unit: &Unit) -> Result<Box<dyn UnitHandle>, Fault> {
        self.site().create(unit, ignore_lines()).await
    }

    pub(crate) async fn sweep(&self) -> SweepResult {
        ProcessPlatform.sweep(&self.ledger).await.unwrap()
    }

    /// Closes the site and checks that nothing is left.
    pub(crate) async fn close(&mut self) {
        self.site.take().unwrap().close().await.unwrap();
        assert_eq!(self.ledger.left(), []);
    }

    /// Processes and folders that the ledger still names; the groups of a site are removed when it is closed.
    pub(crate) fn left(&self) -> Vec<barograph_platform::Resource> {
        let group = |thing: &barograph_platform::Resource| {
            matches!(thing, barograph_platform::Resource::Cgroup { .. })
        };
        self.ledger.left().into_iter().map(|left| left.thing).filter(|thing| !group(thing)).collect()
    }
}

pub(crate) fn host(name: &str) -> HostSpec {
    HostSpec { name: name.to_owned(), ..HostSpec::default() }
}

/// Whether control groups can be used here; prints the reason if not.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn groups_or_skip() -> bool {
    let found = Hierarchies::find();
    if let Err(why) = &found {
        println!("skipped: {why}");
    }
    found.is_ok()
}

/// Returns the first of these programs that is installed; prints what is missing if none is.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn program_or_skip(places: &[&str], hint: &str) -> Option<PathBuf> {
    let found = places.iter().map(PathBuf::from).find(|place| place.is_file());
    if found.is_none() {
        println!("skipped: none of {places:?} on this machine ({hint})");
    }
    found
}

/// Returns a program of the installed version of PostgreSQL.
pub(crate) fn postgres_or_skip(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places: Vec<String> =
        versions.map(|v| v.path().join("bin").join(name).display().to_string()).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    program_or_skip(&places, "apt-get install -y postgresql")
}

pub(crate) fn collector() -> (OnLine, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), lines)
}

/// Polls until `condition` holds; fails after a while.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

/// As `until`, while tasks continue.
pub(crate) async fn until_async(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        tokio::task::yield_now().await;
    }
}

pub(crate) fn state(pid: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

pub(crate) fn lives(pid: u32) -> bool {
    state(pid).is_some_and(|s| s != 'Z' && s != 'X')
}

/// Waits until a process that was just started has this in its environment: until it has executed its program
/// it shows another one, or none.
pub(crate) fn until_environ_has(pid: u32, text: &str) {
    let has = |bytes: Vec<u8>| bytes.split(|byte| *byte == 0).any(|variable| variable == text.as_bytes());
    until("the environment of a child", || fs::read(format!("/proc/{pid}/environ")).is_ok_and(has));
}

pub(crate) fn start_ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap()
}

/// Lists the children started by the first thread of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Returns the CPU time of a process and its collected children, in ticks.
pub(crate) fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(4).map(|n| n.parse::<u64>().unwrap()).sum()
}

/// Lists all living processes but this one with `what` in their command line or environment, by their command
/// line.
pub(crate) fn processes_naming(what: &Path) -> Vec<String> {
    let what = what.as_os_str().as_encoded_bytes();
    let names = |bytes: &[u8]| bytes.windows(what.len()).any(|part| part == what);
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found = Vec::new();
    for pid in pids.filter(|&pid| pid != std::process::id() && lives(pid)) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if names(&line) || names(&environ) {
            found.push(format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// Lists the control groups of the site in a temporary folder, whose name it has, in all hierarchies. Numbers
/// of processes do not tell sites apart: they are used again within seconds beside other tests.
pub(crate) fn groups_of(dir: &Path) -> Vec<PathBuf> {
    let Ok(hierarchies) = Hierarchies::find() else { return Vec::new() };
    let name = dir.file_name().unwrap().to_str().unwrap();
    let ours = |path: &PathBuf| path.to_string_lossy().contains(name.trim_start_matches('.'));
    let bases =
        hierarchies.list().iter().flat_map(|tree| fs::read_dir(&tree.base).into_iter().flatten().flatten());
    bases.map(|entry| entry.path()).filter(ours).collect()
}
