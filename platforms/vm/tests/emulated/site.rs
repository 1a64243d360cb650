//! Common parts of all tests: a program for the guests, a site, units.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use barograph_platform::{
    HostSpec, Ledger, Limits, MissingRequirement, OnLine, Platform, Readiness, Site, SiteSpec, Unit,
    UnitHandle,
};
use barograph_platform_vm::{Program, VmPlatform, VmSite};

/// Longer than anything that does not hang: emulated guests are slow, and slower beside other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// Longest boot of a guest.
pub(crate) const BOOT_SECONDS: &str = "600";

/// The example of this crate that is agent, relay and echo service.
pub(crate) fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().join("examples/vm_program")
}

pub(crate) fn platform() -> VmPlatform {
    let word = |word: &str| vec![word.to_owned()];
    VmPlatform::new(Program { path: program(), agent: word("agent"), relay: word("relay") })
}

pub(crate) fn spec(id: &str, folder: &Path, hosts: &[&str]) -> SiteSpec {
    let host = |name: &&str| HostSpec { name: (*name).to_owned(), ..HostSpec::default() };
    SiteSpec {
        id: format!("{id}-{}", std::process::id()),
        folder: folder.join("site"),
        hosts: hosts.iter().map(host).collect(),
        options: vec![("boot_seconds".to_owned(), BOOT_SECONDS.to_owned())],
        ..SiteSpec::default()
    }
}

/// The folder of a test, its ledger and its open site.
pub(crate) struct TestSite {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ledger: Ledger,
    pub(crate) spec: SiteSpec,
    pub(crate) vm: VmSite,
}

/// Whether this machine can create the site; prints the reason if not.
pub(crate) async fn can(spec: &SiteSpec) -> bool {
    let looked = platform().preflight(spec).await;
    let told =
        |all: Vec<MissingRequirement>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    or_skip(looked.map_err(told)).is_some()
}

/// Returns the value; or `None` after the line `skipped: ...`.
pub(crate) fn or_skip<T>(found: Result<T, impl Display>) -> Option<T> {
    found.map_err(|missing| say(&format!("skipped: {missing}"))).ok()
}

/// Opens a site; `None`, after a printed reason, if this machine cannot.
pub(crate) async fn open(
    id: &str,
    hosts: &[&str],
    change: impl FnOnce(&mut SiteSpec, &Path),
) -> Option<TestSite> {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(id, folder.path(), hosts);
    change(&mut spec, folder.path());
    if !can(&spec).await {
        return None;
    }
    let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
    let vm = platform().open_site(&spec, &ledger).await.unwrap_or_else(|fault| panic!("{fault:?}"));
    Some(TestSite { folder, ledger, spec, vm })
}

impl TestSite {
    /// A unit on a host with a folder and a log of its own.
    pub(crate) fn unit(&self, name: &str, host: &str, program: &str, args: &[&str]) -> Unit {
        let mut unit = Unit::new(name, PathBuf::from(program), Readiness::Exit { timeout: LIMIT });
        unit.host = host.to_owned();
        unit.args = args.iter().map(|&arg| arg.to_owned()).collect();
        unit.workdir = self.spec.folder.clone();
        unit.log = self.log(name);
        unit
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// Runs a script to its end and returns its lines.
    pub(crate) async fn script(&self, name: &str, host: &str, script: &str) -> Vec<String> {
        let unit = self.unit(name, host, "/bin/sh", &["-c", script]);
        let (lines, on_line) = listener();
        self.create(&unit, on_line).await;
        lines.lock().unwrap().clone()
    }

    pub(crate) async fn create(&self, unit: &Unit, on_line: OnLine) -> Box<dyn UnitHandle> {
        self.vm.create(unit, on_line).await.unwrap_or_else(|fault| panic!("{fault:?}"))
    }

    /// Closes the site and checks that nothing is left.
    pub(crate) async fn close(self) {
        let disks = self.spec.folder.clone();
        Box::new(self.vm).close().await.unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!(self.ledger.left(), []);
        assert!(!disks.exists());
    }
}

/// Keeps the lines of a unit.
pub(crate) fn listener() -> (Arc<Mutex<Vec<String>>>, OnLine) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (lines, Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())))
}

pub(crate) fn cpus(cpus: f64) -> Limits {
    Limits { cpus: Some(cpus), ..Limits::default() }
}

#[expect(clippy::print_stdout, reason = "a test says what it measured, and why it was skipped")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}
