//! A site on this machine, and units of services on it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{
    HERE, Ledger, Limits, Platform, Readiness, Site, SiteSpec, Unit, UnitExit, UnitHandle, ignore_lines,
};
use barograph_platform_process::ProcessPlatform;
use barograph_services::{Flavour, Placement, Service, find};
use tempfile::TempDir;

use crate::traces;

/// Not 127.0.0.1: services must work at any address of a site.
const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

/// Longest wait for services, though their own limits are shorter: those are meant for an otherwise idle
/// machine, and here RabbitMQ may start three times at once.
const READY: Duration = Duration::from_secs(600);

#[expect(clippy::print_stdout, reason = "a test says why it is skipped, and what it saw")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Returns the services of these names, or `None` with a printed reason.
pub(crate) fn or_skip<const N: usize>(names: [&str; N]) -> Option<[&'static Service; N]> {
    let services = names.map(|name| find(name).unwrap());
    for service in services {
        if let Some(missing) = service.missing() {
            say(&format!("skipped: {missing}"));
            return None;
        }
    }
    Some(services)
}

pub(crate) struct TestSite {
    folder: TempDir,
    pub(crate) site: Box<dyn Site>,
    ledger: Ledger,
}

/// An instance to be started.
pub(crate) struct InstanceSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) flavour: Flavour,
    pub(crate) values: &'a [(&'a str, String)],
}

/// A ready unit.
pub(crate) struct ReadyUnit {
    pub(crate) service: &'static Service,
    pub(crate) running: Box<dyn UnitHandle>,
    pub(crate) unit: Unit,
    pub(crate) ports: BTreeMap<String, u16>,
    pub(crate) url: String,
}

impl TestSite {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
        let spec =
            SiteSpec { id: "services".to_owned(), folder: folder.path().join("site"), ..SiteSpec::default() };
        let site = ProcessPlatform.open(&spec, &ledger).await.unwrap();
        TestSite { folder, site, ledger }
    }

    /// Path for files of a test that the site does not know.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A free port of this machine.
    pub(crate) fn port(&self) -> u16 {
        self.site.port(HERE, 0).unwrap()
    }

    pub(crate) fn unit(&self, service: &Service, wanted: &InstanceSpec<'_>) -> (Unit, BTreeMap<String, u16>) {
        let ports: BTreeMap<String, u16> =
            service.ports().iter().map(|(name, _)| (name.clone(), self.port())).collect();
        let values = wanted.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let folder = self.folder.path().join("site").join(wanted.name);
        let log = self.folder.path().join(format!("{}.log", wanted.name));
        let limits = Limits::default();
        let place = Placement {
            name: wanted.name,
            host: HERE,
            address: ADDRESS,
            ports: &ports,
            folder: &folder,
            log: &log,
            flavour: wanted.flavour,
            limits: &limits,
            machine: (2, 2 << 30),
            values: &values,
            own_program: Path::new("/no/own/program"),
        };
        let mut unit = service.unit(&place).unwrap();
        if let Readiness::StdoutLine { timeout }
        | Readiness::Exit { timeout }
        | Readiness::Answers { timeout, .. } = &mut unit.ready
        {
            *timeout = READY.max(*timeout);
        }
        (unit, ports)
    }

    /// Starts a service and waits until it is ready.
    pub(crate) async fn start(&self, service: &'static Service, wanted: InstanceSpec<'_>) -> ReadyUnit {
        let (unit, ports) = self.unit(service, &wanted);
        let running = match self.site.create(&unit, ignore_lines()).await {
            Ok(running) => running,
            Err(fault) => panic!("{fault}\n{}", fs::read_to_string(&unit.log).unwrap_or_default()),
        };
        let url = service.url(ADDRESS, &ports);
        ReadyUnit { service, running, unit, ports, url }
    }

    /// Closes the site and checks that nothing of it is left.
    pub(crate) async fn end(self) {
        self.site.close().await.unwrap();
        assert_eq!(self.ledger.left(), []);
        assert!(!self.folder.path().join("site").exists());
    }
}

impl ReadyUnit {
    pub(crate) fn at(&self, port: &str) -> SocketAddr {
        SocketAddr::new(ADDRESS, self.ports[port])
    }

    pub(crate) fn main(&self) -> SocketAddr {
        self.at("main")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.unit.log).unwrap_or_default()
    }

    /// Checks that its processes listen only at its own address.
    pub(crate) fn assert_listens_at_home(&self) {
        // Java writes addresses of IPv4 in the form of IPv6.
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let wanted: Vec<SocketAddr> = traces::listening(&self.unit.workdir).into_iter().map(plain).collect();
        assert!(wanted.contains(&self.main()), "{wanted:?}");
        // Erlang's name server also listens on the loopback device, where nothing else uses its port.
        let names = self.ports.get("names").copied();
        for address in wanted {
            assert!(
                address.ip() == ADDRESS || (Some(address.port()) == names && address.ip().is_loopback()),
                "{} listens at {address}",
                self.unit.name
            );
        }
    }

    /// Asks it to end: it must do so within its grace, and leave no process.
    pub(crate) async fn stop(self) {
        let before = traces::of_folder(&self.unit.workdir);
        assert!(!before.is_empty(), "{}: no process is known by its folder", self.unit.name);
        let ended = self.running.stop(self.service.grace()).await.unwrap();
        assert_ne!(ended, UnitExit::Signal(9), "{} had to be killed:\n{}", self.unit.name, self.log());
        let left = traces::of_folder(&self.unit.workdir);
        assert!(left.is_empty(), "{left:?} of {before:?}");
    }

    /// Checks that the version begins with a number and matches the product's own output.
    pub(crate) fn assert_version(&self) {
        let version = self.service.version().unwrap();
        assert!(version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.'), "{version}");
        if !self.service.versions_tried().contains(&version) {
            say(&format!("{} {version} is not among the versions tried", self.service.title()));
        }
    }
}

/// Waits until there is a value. The deadline allows for a busy machine.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let wait = async {
        loop {
            tick.tick().await;
            if let Some(found) = look() {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(180), wait).await.unwrap_or_else(|_| panic!("no {what} came"))
}
