//! A site for one test.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use barograph_platform::{
    Fault, HostSpec, Ledger, OnLine, Platform, Readiness, Site, SiteSpec, Unit, UnitExit, UnitHandle,
    ignore_lines,
};
use barograph_platform_container::ContainerPlatform;
use tempfile::TempDir;

use crate::shared::{SharedEngine, engine_or_skip, fresh_id, no_relay};

/// Longer than anything that does not hang, also for starts of services on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);
pub(crate) const SERVICE: Readiness = Readiness::StdoutLine { timeout: LONG };
pub(crate) const JOB: Readiness = Readiness::Exit { timeout: LONG };

/// Folders of a site and its units.
pub(crate) struct TestSite {
    pub(crate) site: Option<Box<dyn Site>>,
    pub(crate) spec: SiteSpec,
    pub(crate) ledger: Ledger,
    pub(crate) dir: TempDir,
    pub(crate) engine: Arc<SharedEngine>,
}

pub(crate) fn host(name: &str) -> HostSpec {
    HostSpec { name: name.to_owned(), ..HostSpec::default() }
}

impl TestSite {
    /// Opens a site with hosts `a` and `b` on the shared engine; `None` if there can be no engine.
    pub(crate) async fn open(options: &[(&str, &str)]) -> Option<TestSite> {
        TestSite::open_with(vec![host("a"), host("b")], options).await
    }

    pub(crate) async fn open_with(hosts: Vec<HostSpec>, options: &[(&str, &str)]) -> Option<TestSite> {
        let mut place = TestSite::closed(hosts, options)?;
        let site = platform().open(&place.spec, &place.ledger).await.unwrap();
        place.site = Some(site);
        Some(place)
    }

    /// Makes a place without a site.
    pub(crate) fn closed(hosts: Vec<HostSpec>, options: &[(&str, &str)]) -> Option<TestSite> {
        let engine = engine_or_skip()?;
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let mut all = vec![
            ("engine".to_owned(), engine.address.clone()),
            ("subnet".to_owned(), engine.subnet()),
            ("here".to_owned(), engine.leg.to_string()),
        ];
        for (name, value) in options {
            all.retain(|(other, _)| other != name);
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
        let spec = SiteSpec {
            id: fresh_id("ct"),
            folder: dir.path().join("site"),
            hosts,
            options: all,
            ..SiteSpec::default()
        };
        Some(TestSite { site: None, spec, ledger, dir, engine })
    }

    pub(crate) fn site(&self) -> &dyn Site {
        self.site.as_deref().unwrap()
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.spec.folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A shell on host `a` in a folder of its own.
    pub(crate) fn unit(&self, name: &str, script: &str, ready: Readiness) -> Unit {
        Unit {
            host: "a".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("COLOUR".to_owned(), "green".to_owned())],
            workdir: self.folder(name),
            log: self.dir.path().join(format!("{name}.log")),
            ..Unit::new(name, "/bin/sh".into(), ready)
        }
    }

    pub(crate) async fn create(&self, unit: &Unit) -> Result<Box<dyn UnitHandle>, Fault> {
        self.site().create(unit, ignore_lines()).await
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// Closes the site and checks that the ledger is empty.
    pub(crate) async fn close(mut self) {
        self.site.take().unwrap().close().await.unwrap();
        assert!(self.ledger.left().is_empty(), "{:?}", self.ledger.left());
        assert!(!self.spec.folder.exists());
    }
}

pub(crate) fn platform() -> ContainerPlatform {
    ContainerPlatform::new(no_relay())
}

pub(crate) fn collector() -> (OnLine, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), lines)
}

/// Polls until `condition` holds; fails after a while.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|text| text.rsplit_once(") ")?.1.chars().next())
        .is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn ended_early(fault: &Fault) -> (UnitExit, Vec<String>) {
    match fault {
        Fault::EndedEarly { ended, log, .. } => (ended.clone(), log.0.clone()),
        other => panic!("{other}: {:?}", std::error::Error::source(other)),
    }
}
