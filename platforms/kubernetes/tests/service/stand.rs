//! A site in a cluster for one test.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use barograph_platform::{
    Fault, HostSpec, Ledger, OnLine, Platform, Readiness, Site, SiteSpec, Unit, UnitHandle, ignore_lines,
};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::Cluster;
use tempfile::TempDir;

/// Longer than anything that does not hang, also for starts on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(300);
pub(crate) const SERVICE: Readiness = Readiness::StdoutLine { timeout: LONG };
pub(crate) const JOB: Readiness = Readiness::Exit { timeout: LONG };

/// Folders of a site and its units.
pub(crate) struct Stand {
    pub(crate) site: Option<Box<dyn Site>>,
    pub(crate) spec: SiteSpec,
    pub(crate) ledger: Ledger,
    pub(crate) dir: TempDir,
}

pub(crate) fn host(name: &str) -> HostSpec {
    HostSpec { name: name.to_owned(), ..HostSpec::default() }
}

impl Stand {
    /// A site with hosts `a` and `b` that is not open.
    pub(crate) fn closed(cluster: &Cluster, id: &str, options: &[(&str, &str)]) -> Stand {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let access = ("kubernetes-access".to_owned(), cluster.access().display().to_string());
        let more = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let spec = SiteSpec {
            id: format!("{id}{}", std::process::id()),
            folder: dir.path().join("site"),
            hosts: vec![host("a"), host("b")],
            options: [access].into_iter().chain(more).collect(),
            ..SiteSpec::default()
        };
        Stand { site: None, spec, ledger, dir }
    }

    pub(crate) async fn open(cluster: &Cluster, id: &str, options: &[(&str, &str)]) -> Stand {
        let mut stand = Stand::closed(cluster, id, options);
        stand.site = Some(KubernetesPlatform.open(&stand.spec, &stand.ledger).await.unwrap());
        stand
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

pub(crate) fn collector() -> (OnLine, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), lines)
}

/// A fault with its causes.
pub(crate) fn words(fault: &Fault) -> String {
    let mut says = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(source) = cause {
        says.push_str(&format!(": {source}"));
        cause = source.source();
    }
    says
}
