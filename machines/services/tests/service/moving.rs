//! Keepalived: an address moves from the host whose balancer died to the other host.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use barograph_platform::{Ledger, Limits, Site, SiteSpec, UnitExit, UnitHandle, ignore_lines};
use barograph_platform_process::{HostEntry, Local};
use barograph_services::{Flavour, Placement, Service};

use crate::said::http;
use crate::stand::{or_skip, say, until};
use crate::traces;

/// Two network namespaces on a bridge of this machine, removed when dropped.
struct Hosts {
    tag: u32,
}

impl Hosts {
    /// Creates them; `None`, with a printed reason, if this user or this kernel cannot.
    fn make() -> Option<Self> {
        let tag = std::process::id() % 100_000;
        let hosts = Hosts { tag };
        match hosts.commands().iter().try_for_each(|command| ip(command)) {
            Ok(()) => Some(hosts),
            Err(why) => {
                say(&format!("skipped: two hosts with networks of their own cannot be made here: {why}"));
                None
            }
        }
    }

    fn commands(&self) -> Vec<String> {
        let bridge = self.bridge();
        let mut commands = vec![
            format!("link add {bridge} type bridge"),
            format!("addr add {}/24 dev {bridge}", self.address(254)),
            format!("link set {bridge} up"),
        ];
        for (number, host) in [(1, "a"), (2, "b")] {
            let (name, outside) = (self.namespace(host), format!("bgk{host}{}", self.tag));
            commands.extend([
                format!("netns add {name}"),
                format!("link add {outside} type veth peer name eth0 netns {name}"),
                format!("link set {outside} master {bridge} up"),
                format!("-n {name} addr add {}/24 dev eth0", self.address(number)),
                format!("-n {name} link set lo up"),
                format!("-n {name} link set eth0 up"),
            ]);
        }
        commands
    }

    fn bridge(&self) -> String {
        format!("bgk{}", self.tag)
    }

    fn namespace(&self, host: &str) -> String {
        format!("bg-keepalived-{}-{host}", self.tag)
    }

    fn address(&self, last: u8) -> IpAddr {
        IpAddr::from([10, 213, (self.tag % 250) as u8, last])
    }

    fn on(&self, host: &str, last: u8) -> HostEntry {
        let prefix =
            ["nsenter".to_owned(), format!("--net=/run/netns/{}", self.namespace(host)), "--".to_owned()];
        HostEntry { address: self.address(last), prefix: prefix.to_vec(), own_ports: true }
    }

    /// Whether the moving address is on this host.
    fn has_it(&self, host: &str) -> bool {
        let args = ["-n", &self.namespace(host), "-o", "addr", "show", "dev", "eth0"];
        let output = Command::new("ip").args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).contains(&format!(" {}/", self.address(100)))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in ["a", "b"] {
            // Things that were never created cannot be removed.
            let _ = ip(&format!("netns del {}", self.namespace(host)));
        }
        let _ = ip(&format!("link del {}", self.bridge()));
    }
}

fn ip(command: &str) -> Result<(), String> {
    let output =
        Command::new("ip").args(command.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {command}: {said}")) }
}

struct MoveContext<'a> {
    hosts: &'a Hosts,
    site: &'a dyn Site,
    folder: &'a Path,
}

impl MoveContext<'_> {
    async fn start(&self, service: &Service, host: &str, values: &[(&str, String)]) -> Box<dyn UnitHandle> {
        let name = format!("{}-{host}", service.name());
        let (folder, log) = (self.folder.join("site").join(&name), self.folder.join(format!("{name}.log")));
        let place = Placement {
            name: &name,
            host,
            address: self.site.address(host).unwrap(),
            ports: &service.ports().iter().cloned().collect(),
            folder: &folder,
            log: &log,
            flavour: Flavour::Tuned,
            limits: &Limits::default(),
            machine: (1, 1 << 30),
            values: &values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
            own_program: Path::new("/no/own/program"),
        };
        let unit = service.unit(&place).unwrap();
        match self.site.create(&unit, ignore_lines()).await {
            Ok(running) => running,
            Err(fault) => panic!("{fault}\n{}", std::fs::read_to_string(&log).unwrap_or_default()),
        }
    }

    /// Starts a balancer without nodes, which answers for itself, and its watcher.
    async fn pair(&self, services: [&Service; 2], host: &str, priority: u8) -> [Box<dyn UnitHandle>; 2] {
        let [haproxy, keepalived] = services;
        let (own, peer) = if host == "a" { (1, 2) } else { (2, 1) };
        let moving = self.hosts.address(100).to_string();
        let balancer = [
            ("servers", "none=127.0.0.1:9".to_owned()),
            ("check", "connect".to_owned()),
            ("bind", moving.clone()),
        ];
        let watcher = [
            ("virtual_address", format!("{moving}/24")),
            ("peers", self.hosts.address(peer).to_string()),
            ("watch", SocketAddr::new(self.hosts.address(own), 8080).to_string()),
            ("priority", priority.to_string()),
        ];
        [self.start(haproxy, host, &balancer).await, self.start(keepalived, host, &watcher).await]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_goes_where_a_balancer_lives() {
    let Some(services) = or_skip(["haproxy", "keepalived"]) else { return };
    let Some(hosts) = Hosts::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
    let spec =
        SiteSpec { id: "moving".to_owned(), folder: folder.path().join("site"), ..SiteSpec::default() };
    let site = Local::open(&spec, &ledger).with_host("a", hosts.on("a", 1)).with_host("b", hosts.on("b", 2));
    let site: Box<dyn Site> = Box::new(site.with_folder().unwrap());
    let world = MoveContext { hosts: &hosts, site: &*site, folder: folder.path() };
    let [balancer_a, watcher_a] = world.pair(services, "a", 150).await;
    let [balancer_b, watcher_b] = world.pair(services, "b", 100).await;

    // The balancer answers 503 by itself: it has no nodes, but it is there.
    let at = SocketAddr::new(hosts.address(100), 8080);
    let answers = || http(at, "GET", "/", "").ok().filter(|(head, _)| head.contains(" 503 ")).map(|_| ());
    until("address on the first host", || (hosts.has_it("a") && !hosts.has_it("b")).then_some(())).await;
    until("answer", answers).await;
    let began = std::time::Instant::now();
    balancer_a.kill().await.unwrap();
    until("address on the second host", || (hosts.has_it("b") && !hosts.has_it("a")).then_some(())).await;
    until("answer of the second", answers).await;
    say(&format!("the address moved {:.1} s after the balancer was killed", began.elapsed().as_secs_f64()));

    for unit in [watcher_a, watcher_b, balancer_b] {
        let ended = unit.stop(Duration::from_secs(60)).await.unwrap();
        assert_ne!(ended, UnitExit::Signal(9), "{}", unit.name());
    }
    assert!(!hosts.has_it("a") && !hosts.has_it("b"), "who ends gives the address back");
    assert!(services[1].version().unwrap().starts_with(|c: char| c.is_ascii_digit()));
    let left = traces::of_folder(folder.path());
    assert!(left.is_empty(), "{left:?}");
    site.close().await.unwrap();
}
