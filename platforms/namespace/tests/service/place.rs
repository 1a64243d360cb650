//! A site for a test, and traffic on it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use barograph_platform::{HostSpec, Ledger, Limits, LinkSpec, Platform, Site, SiteSpec};
use barograph_platform_namespace::{NamespacePlatform, RelayProgram, rootless};
use barograph_virtual_network::inside;
use tempfile::TempDir;

/// Longer than anything that does not hang, also for starts of services on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);

/// Prints figures and reasons, for readers of the tests' output.
#[expect(clippy::print_stdout, reason = "a skipped test says why, a measurement what it found")]
pub(crate) fn tell(text: &str) {
    println!("{text}");
}

pub(crate) fn host(name: &str) -> HostSpec {
    let (limits, link) = (Limits::default(), LinkSpec::default());
    HostSpec { name: name.to_owned(), limits, link, offloads: String::new() }
}

/// A name that is unique among tests, even as a part of another: things are found by it.
pub(crate) fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("n{:x}-{:02}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The program for tests. Tests are in `deps`, examples beside it.
pub(crate) fn own_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().parent().unwrap().join("examples/namespace_program")
}

pub(crate) fn platform() -> NamespacePlatform {
    NamespacePlatform::new(RelayProgram { program: own_program(), args: vec!["relay".to_owned()] })
}

/// Returns a service's program at one of several places; prints that it is missing.
pub(crate) fn program(places: &[&str], package: &str) -> Option<PathBuf> {
    let found = places.iter().map(PathBuf::from).find(|path| path.is_file());
    if found.is_none() {
        tell(&format!("skipped: `{}` is not there; apt-get install {package}", places[0]));
    }
    found
}

/// Whether this user can create sites here; prints the reason if not.
pub(crate) async fn possible(spec: &SiteSpec) -> bool {
    if rootless::needed() {
        tell("skipped: needs root; tests without root run under it");
        return false;
    }
    match platform().preflight(spec).await {
        Ok(_) => true,
        Err(missing) => {
            missing.iter().for_each(|lacks| tell(&format!("skipped: {lacks}")));
            false
        }
    }
}

pub(crate) struct TestSite {
    pub(crate) dir: TempDir,
    pub(crate) ledger: Ledger,
    pub(crate) spec: SiteSpec,
}

impl TestSite {
    pub(crate) async fn new(hosts: Vec<HostSpec>) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let spec = SiteSpec { id: new_id(), folder: dir.path().join("site"), hosts, ..SiteSpec::default() };
        possible(&spec).await.then_some(TestSite { dir, ledger, spec })
    }

    pub(crate) async fn open(&self) -> Box<dyn Site> {
        platform().open(&self.spec, &self.ledger).await.unwrap()
    }

    /// Creates the folder of a unit, with its log beside it.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.spec.folder.join(name)
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.log"))
    }

    /// Returns the namespace of a host.
    pub(crate) fn namespace(&self, host: &str) -> String {
        format!("bg-{}-{host}", self.spec.id)
    }
}

/// Connects from a host, or from the machine.
pub(crate) fn connect(from: Option<&str>, to: SocketAddr, wait: Duration) -> std::io::Result<TcpStream> {
    let dial = move || TcpStream::connect_timeout(&to, wait);
    let stream = match from {
        Some(namespace) => inside(namespace, dial).unwrap()?,
        None => dial()?,
    };
    stream.set_read_timeout(Some(wait))?;
    Ok(stream)
}

/// Sends an HTTP request and returns the whole answer and the time it took.
pub(crate) fn get(stream: &mut TcpStream, path: &str) -> std::io::Result<(String, Duration)> {
    let start = Instant::now();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok((answer, start.elapsed()))
}

/// Polls until `condition` holds; fails after a while.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

/// Everything on this machine with the name of the site or the ledger.
pub(crate) fn listing(id: &str, ledger: &Path) -> Vec<String> {
    let said = |program: &str, words: &[&str]| {
        let output = std::process::Command::new(program).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    let legs: Vec<&str> =
        text.split('"').filter(|w| w.len() == 14 && w.starts_with("bg") && !w.contains('-')).collect();
    let site = format!("bg-{id}");
    let texts = [
        said("ip", &["netns", "list"]),
        said("ip", &["-o", "link", "show"]),
        said("ip", &["-4", "route", "show", "table", "all"]),
        said("find", &["/sys/fs/cgroup", "-type", "d", "-name", &format!("*{id}*")]),
        std::fs::read_to_string("/proc/self/mountinfo").unwrap(),
    ];
    let ours =
        |line: &&str| line.contains(&site) || line.contains(id) || legs.iter().any(|leg| line.contains(leg));
    let mut found: Vec<String> =
        texts.iter().flat_map(|text| text.lines().filter(ours)).map(str::to_owned).collect();
    let mark = ledger.to_string_lossy().into_owned();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environ).contains(&mark) {
            found.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    found
}
