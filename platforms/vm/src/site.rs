//! The virtual machines of one site, and the machine itself beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use barograph_platform::{
    BoxFuture, DiskFill, Disks, Facts, Fault, GuestCounters, Guests, HERE, LinkSpec, Machines,
    MissingRequirement, Network, OnLine, Site, Unit, UnitHandle,
};
use barograph_platform_process::Local;
use tokio::task::JoinSet;

use crate::cache::NotedFolder;
use crate::host::{ClockOffset, Host, SiteContext};
use crate::host_commands::failed;
use crate::unit::GuestUnit;
use crate::wire::{AgentCommand, AgentReply};

/// Longest wait for an answer of the agent from its memory or from `/proc`.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// Longest operation on a disk, which may be emulated.
const DISK_LIMIT: Duration = Duration::from_secs(300);

/// Ports for units that accept any: lower ones have conventional meanings, higher ones are for connections.
const ANY_PORTS: std::ops::Range<u16> = 10_000..32_000;

/// An open site of virtual machines. Dropping it ends them.
pub struct VmSite {
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    ports: Mutex<BTreeSet<(String, u16)>>,
    /// Name of each host's tap: that of the host, until it has moved.
    taps: Mutex<BTreeMap<String, String>>,
    twins: AtomicU32,
    facts: Facts,
    plant: Arc<SiteContext>,
    /// Folder of sockets; dropped after its users.
    folder: NotedFolder,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VmSite {
    pub(crate) fn new(
        plant: Arc<SiteContext>,
        hosts: Vec<Host>,
        folder: NotedFolder,
        facts: Facts,
    ) -> VmSite {
        let taps = hosts.iter().map(|host| (host.name.clone(), host.name.clone())).collect();
        let hosts = hosts.into_iter().map(|host| (host.name.clone(), Arc::new(host))).collect();
        VmSite {
            hosts: Mutex::new(hosts),
            ports: Mutex::default(),
            taps: Mutex::new(taps),
            twins: AtomicU32::new(0),
            facts,
            plant,
            folder,
        }
    }

    /// Returns facts for the record: the accelerator, the kernel, and the boot times of hosts.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the offset of a guest's clock from this machine's, measured when the guest was ready.
    pub fn clock_offset(&self, host: &str) -> Result<ClockOffset, Fault> {
        Ok(*lock(&self.machine(host)?.offset))
    }

    pub(crate) fn plant(&self) -> Arc<SiteContext> {
        self.plant.clone()
    }

    pub(crate) fn machine(&self, name: &str) -> Result<Arc<Host>, Fault> {
        let found = lock(&self.hosts).get(name).cloned();
        found.ok_or_else(|| failed(format!("find host `{name}`"), "the site has no such virtual machine"))
    }

    pub(crate) fn add(&self, host: Arc<Host>) {
        lock(&self.taps).insert(host.name.clone(), host.name.clone());
        lock(&self.hosts).insert(host.name.clone(), host);
    }

    /// Returns a name for a tap that no host has; the switch refuses it if a host has it by chance.
    pub(crate) fn twin_name(&self) -> String {
        format!("twin-{}", self.twins.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn taps_changed(&self, host: &str, tap: &str) {
        lock(&self.taps).insert(host.to_owned(), tap.to_owned());
    }

    fn tap(&self, host: &str) -> Result<String, Fault> {
        let tap = lock(&self.taps).get(host).cloned();
        tap.ok_or_else(|| failed(format!("find host `{host}`"), "the site has no such virtual machine"))
    }

    fn here(&self) -> &Local {
        &self.plant.work.here
    }

    async fn close_all(self) -> Result<(), Fault> {
        let VmSite { hosts, plant, folder, .. } = self;
        let hosts = hosts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut closing = JoinSet::new();
        for host in hosts.into_values() {
            closing.spawn(async move { host.close().await });
        }
        // Every step is tried; the first fault is returned.
        let mut first = Ok(());
        while let Some(closed) = closing.join_next().await {
            let closed = closed.unwrap_or_else(|error| Err(failed("close a host", error)));
            first = first.and(closed);
        }
        let act = "close the site";
        // Parts still held by others are closed when those drop them.
        let Some(plant) = Arc::into_inner(plant) else {
            return first.and(Err(failed(act, "something is still being done with it")));
        };
        let SiteContext { switch, work, uses, .. } = plant;
        drop(uses);
        first = first.and(switch.close().await.map_err(Fault::from));
        drop(folder);
        match Arc::into_inner(work.here) {
            Some(here) => first.and(Box::new(here).close().await),
            None => first.and(Err(failed(act, "a unit is still being created on it"))),
        }
    }
}

impl Site for VmSite {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn address(&self, host: &str) -> Option<IpAddr> {
        if host == HERE {
            // The address of this machine as seen by the guests.
            return Some(self.plant.switch.leg());
        }
        let tap = self.tap(host).ok()?;
        self.plant.switch.address(&tap)
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        if host == HERE {
            return self.here().port(HERE, wanted);
        }
        self.machine(host)?;
        let mut given = lock(&self.ports);
        let free = |port: &u16| !given.contains(&(host.to_owned(), *port));
        let wanted = Some(wanted).filter(|port| *port != 0);
        let port = wanted.into_iter().chain(ANY_PORTS).find(free);
        let port = port.ok_or_else(|| {
            failed(format!("find a free port on host `{host}`"), "all ports of this host are given")
        })?;
        given.insert((host.to_owned(), port));
        Ok(port)
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        Box::pin(async move {
            if unit.host == HERE {
                return self.here().preflight(unit).await;
            }
            let missing = |fault: Fault| MissingRequirement {
                what: format!("unit `{}` cannot be looked at: {fault}", unit.name),
                hint: "look at the host".to_owned(),
            };
            let machine = self.machine(&unit.host).map_err(missing)?;
            match machine
                .port
                .ask(AgentCommand::Preflight(inside(unit)), &unit.name, ASK_LIMIT)
                .await
                .map_err(missing)?
            {
                AgentReply::Facts(facts) => Ok(facts.into_iter().chain(self.facts.clone()).collect()),
                AgentReply::Missing { what, hint } => {
                    Err(MissingRequirement { what: format!("{what} (on host `{}`)", unit.host), hint })
                }
                _ => Ok(self.facts.clone()),
            }
        })
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        Box::pin(async move {
            if unit.host == HERE {
                return self.here().create(unit, on_line).await;
            }
            let machine = self.machine(&unit.host)?;
            let unit = GuestUnit::create(machine, &inside(unit), on_line).await?;
            Ok(Box::new(unit) as Box<dyn UnitHandle>)
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin((*self).close_all())
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    fn machines(&self) -> Option<&dyn Machines> {
        Some(self)
    }

    fn guests(&self) -> Option<&dyn Guests> {
        Some(self)
    }

    fn disks(&self) -> Option<&dyn Disks> {
        (!self.plant.spec.disks.is_empty()).then_some(self)
    }
}

impl Guests for VmSite {
    fn hosts(&self) -> Vec<String> {
        lock(&self.hosts).keys().cloned().collect()
    }

    fn counters<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<GuestCounters, Fault>> {
        Box::pin(async move {
            match self.machine(host)?.port.ask(AgentCommand::Counters, host, ASK_LIMIT).await? {
                AgentReply::Counters(counters) => Ok(counters),
                _ => Err(failed(
                    format!("read the counters of host `{host}`"),
                    "its agent answers something else",
                )),
            }
        })
    }
}

impl Disks for VmSite {
    fn fill<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<DiskFill, Fault>> {
        Box::pin(async move {
            let port = &self.machine(&unit.host)?.port;
            match port.ask(AgentCommand::FillDisk(inside(unit)), &unit.name, DISK_LIMIT).await? {
                AgentReply::Filled { bytes, kind } => {
                    Ok(DiskFill { bytes, kind: format!("{kind} of the guest") })
                }
                _ => Err(failed(
                    format!("fill the disk of unit `{}`", unit.name),
                    "its agent answers something else",
                )),
            }
        })
    }

    fn free<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let port = &self.machine(&unit.host)?.port;
            port.ask(AgentCommand::FreeDisk(inside(unit)), &unit.name, DISK_LIMIT).await.map(drop)
        })
    }
}

/// Returns a unit as its guest sees it: there the guest is the machine itself.
fn inside(unit: &Unit) -> Unit {
    Unit { host: HERE.to_owned(), ..unit.clone() }
}

impl Network for VmSite {
    fn shape<'a>(&'a self, host: &'a str, link: LinkSpec) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move { Ok(self.plant.switch.shape(&self.tap(host)?, link).await?) })
    }

    fn partition<'a>(&'a self, hosts: &'a [String]) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let taps = hosts.iter().map(|host| self.tap(host)).collect::<Result<Vec<_>, _>>()?;
            Ok(self.plant.switch.partition(&taps).await?)
        })
    }

    fn heal(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move { Ok(self.plant.switch.heal().await?) })
    }

    fn carriers(&self) -> Vec<(String, u32)> {
        let taps = lock(&self.taps);
        let host = |tap: &str| taps.iter().find(|(_, known)| *known == tap).map(|(host, _)| host.clone());
        let relays = self.plant.switch.relays().into_iter();
        relays.filter_map(|(tap, pid)| Some((host(&tap)?, pid))).collect()
    }

    /// Queries the relays for their counts, which takes microseconds.
    fn facts(&self) -> Facts {
        let mut facts = self.plant.delays.clone();
        match self.plant.switch.relay_counts() {
            Ok(counts) => {
                facts
                    .extend(counts.iter().map(|(tap, count)| (format!("relay of {tap}"), count.to_string())));
            }
            Err(error) => facts.push(("relays".to_owned(), error.to_string())),
        }
        facts
    }
}
