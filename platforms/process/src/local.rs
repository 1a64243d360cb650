//! A site whose hosts are this machine, or places on it that a command can enter.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use barograph_platform::{
    Accounts, BoxFuture, DiskFill, Facts, Fault, HERE, Ledger, Limits, MissingRequirement, OnLine, Site,
    SiteSpec, Unit, UnitHandle,
};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::command::CommandPrefix;
use crate::containment::{Containment, UnitContainment};
use crate::disks::Disks;
use crate::folders::Folders;
use crate::groups::{Groups, NoGroup};
use crate::ports::PortReservation;
use crate::running::to_group;
use crate::{create, ports, preflight};

/// Access to a host for units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// Address of its units.
    pub address: IpAddr,
    /// Words before a command that run it there, as `nsenter --net=/run/netns/x --`. They must be replaced by
    /// the command without a process in between, and leave the file systems of control groups visible.
    pub prefix: Vec<String>,
    /// Whether it has its own ports.
    pub own_ports: bool,
}

impl Default for HostEntry {
    /// This machine.
    fn default() -> Self {
        HostEntry { address: IpAddr::V4(Ipv4Addr::LOCALHOST), prefix: Vec::new(), own_ports: false }
    }
}

/// A site on this machine. Dropping it ends all its units.
#[derive(Debug)]
pub struct Local {
    hosts: BTreeMap<String, Host>,
    /// Assigned ports of hosts with their own ports.
    ports: Mutex<BTreeSet<(String, u16)>>,
    /// Assigned ports of this machine.
    reserved: Mutex<Vec<PortReservation>>,
    pub(crate) folders: Folders,
    disks: Disks,
    hold: Containment,
    groups: Option<Groups>,
    pub(crate) ledger: Ledger,
    /// Watchers of units listen here, and end their unit when the site is dropped.
    pub(crate) units: watch::Sender<()>,
}

/// Longest wait for the end of killed units when a site is closed, unless a disk is stuck.
const UNITS_WAIT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, Default)]
struct Host {
    on: HostEntry,
    limits: Limits,
}

impl Local {
    /// Opens a site on this machine: every host of `spec`, and [`HERE`], is this machine at 127.0.0.1.
    /// Nothing is created before the first unit; the site's folder is left to the caller, see
    /// [`Local::with_folder`].
    #[must_use]
    pub fn open(spec: &SiteSpec, ledger: &Ledger) -> Self {
        let hold = Containment::choose(spec);
        let groups = match &hold {
            Containment::ControlGroup(hierarchies) => {
                Some(Groups::new(hierarchies.clone(), ledger, &spec.id))
            }
            Containment::Namespace | Containment::Mark => None,
        };
        let mut hosts = BTreeMap::from([(HERE.to_owned(), Host::default())]);
        for host in &spec.hosts {
            hosts.insert(host.name.clone(), Host { limits: host.limits.clone(), ..Host::default() });
        }
        Local {
            hosts,
            ports: Mutex::default(),
            reserved: Mutex::default(),
            folders: Folders::new(spec, ledger),
            disks: Disks::new(spec, ledger),
            hold,
            groups,
            ledger: ledger.clone(),
            units: watch::Sender::new(()),
        }
    }

    /// Sets the access to a host.
    #[must_use]
    pub fn with_host(mut self, name: &str, on: HostEntry) -> Self {
        self.hosts.entry(name.to_owned()).or_default().on = on;
        self
    }

    /// Creates the site's folder, if it has one, and removes it when the site is closed.
    pub fn with_folder(self) -> Result<Self, Fault> {
        self.folders.make_own()?;
        Ok(self)
    }

    /// Returns the missing requirements of such a site, or facts for the disclosure: the way to keep
    /// processes together, and the limits in force. Links between hosts are not checked.
    pub fn look(spec: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
        preflight::of_local(spec)
    }

    /// Returns the way to keep processes together.
    #[must_use]
    pub fn hold(&self) -> &Containment {
        &self.hold
    }

    /// Returns the accounts of all units of a host together; empty before its first unit, and without control
    /// groups.
    #[must_use]
    pub fn host_accounts(&self, host: &str) -> Accounts {
        let cgroups = self.groups.as_ref().map(|groups| groups.of_host(host)).unwrap_or_default();
        Accounts { cgroups, ..Accounts::default() }
    }

    /// Keeps a reservation as long as the site is open.
    fn keep(&self, reserved: io::Result<PortReservation>) -> io::Result<u16> {
        let reserved = reserved?;
        let port = reserved.port;
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
        Ok(port)
    }

    fn host(&self, unit: &Unit) -> Result<&Host, Fault> {
        self.hosts.get(&unit.host).ok_or_else(|| Fault::Unit {
            unit: unit.name.clone(),
            act: format!("find host `{}` of", unit.host),
            source: "the site has no such host".into(),
        })
    }

    /// Creates the means to keep the processes of a unit together, with its limits. Its steps have disks without a
    /// limit, as they bring more to them than the unit does in minutes.
    pub(crate) fn holding(&self, unit: &Unit) -> Result<UnitContainment, Fault> {
        let host = self.host(unit)?;
        let Some(groups) = &self.groups else {
            for limits in [&host.limits, &unit.limits] {
                preflight::limits_without_groups(&unit.name, limits).map_err(|missing| Fault::Unit {
                    unit: unit.name.clone(),
                    act: "limit".to_owned(),
                    source: missing.into(),
                })?;
            }
            return Ok(if matches!(self.hold, Containment::Namespace) {
                UnitContainment::Namespace
            } else {
                UnitContainment::Mark
            });
        };
        let mut limits = to_group(&unit.limits);
        if !unit.prepare.is_empty() {
            limits.disk_bytes_s = None;
        }
        let made = groups.unit((&unit.host, &to_group(&host.limits)), (&unit.name, &limits));
        match made {
            Ok(group) => Ok(UnitContainment::Group(group)),
            Err(NoGroup::Ledger(source)) => Err(Fault::Note { unit: unit.name.clone(), source }),
            Err(NoGroup::Group(source)) => Err(Fault::Unit {
                unit: unit.name.clone(),
                act: "make a control group for".to_owned(),
                source: source.into(),
            }),
        }
    }

    /// Returns the words before every command of a unit.
    pub(crate) fn before(&self, unit: &Unit, holding: &UnitContainment) -> Result<CommandPrefix, Fault> {
        let host = self.host(unit)?;
        // Control groups, if there are any, limit the cores.
        let wanted = if unit.limits.cpu_set.is_empty() { &host.limits.cpu_set } else { &unit.limits.cpu_set };
        let cores = if holding.group().is_some() { Vec::new() } else { wanted.clone() };
        Ok(CommandPrefix { hold: holding.command(), host: host.on.prefix.clone(), cores, user: unit.user })
    }

    /// Returns an address given by a unit, as seen by others: on a host of its own, the loopback address and
    /// "any address" have no meaning outside.
    #[must_use]
    pub fn seen_from_outside(&self, unit: &Unit, address: SocketAddr) -> SocketAddr {
        let Some(host) = self.hosts.get(&unit.host) else { return address };
        let nowhere = address.ip().is_unspecified() || (host.on.own_ports && address.ip().is_loopback());
        if nowhere { SocketAddr::new(host.on.address, address.port()) } else { address }
    }

    /// Creates the working folder of a unit that has files, and writes the files; both are recorded if
    /// necessary. For platforms that run units themselves and whose units see this machine's files.
    pub fn lay_out(&self, unit: &Unit) -> Result<(), Fault> {
        self.folders.lay_out(unit)
    }

    /// Mounts a unit's file system at its working folder, if it has one; before [`Local::lay_out`]. For
    /// platforms that run units themselves and whose units see this machine's files.
    pub async fn make_disk(&self, unit: &Unit) -> Result<(), Fault> {
        self.disks.make(unit, &self.folders).await
    }

    /// Tries every step; returns the first fault.
    async fn close_all(self) -> Result<(), Fault> {
        self.units.send_replace(());
        // A unit that does not end stays in the ledger; closing its control group below reports that it is
        // busy.
        let _ = timeout(UNITS_WAIT, self.units.closed()).await;
        let groups = match &self.groups {
            Some(groups) => groups.close().await.map_err(|error| Fault::Site {
                act: "remove the site's control groups".to_owned(),
                source: match error {
                    NoGroup::Ledger(error) => error.into(),
                    NoGroup::Group(error) => error.into(),
                },
            }),
            None => Ok(()),
        };
        let failed = |source| Fault::Site { act: "unmount the file systems of units".to_owned(), source };
        let disks = self.disks.close().await.map_err(failed);
        let failed =
            |error| Fault::Site { act: "remove the site's folders".to_owned(), source: Box::new(error) };
        let folders = self.folders.close().map_err(failed);
        groups.and(disks).and(folders)
    }
}

impl Site for Local {
    fn address(&self, host: &str) -> Option<IpAddr> {
        self.hosts.get(host).map(|host| host.on.address)
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Fault::Site {
            act: format!("find a free port on host `{host}`"),
            source,
        };
        let Some(known) = self.hosts.get(host) else {
            return Err(failed("the site has no such host".into()));
        };
        if !known.on.own_ports {
            return self.keep(PortReservation::any()).map_err(|error| failed(error.into()));
        }
        let mut all = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let mut given = all.iter().filter(|(name, _)| name == host).map(|(_, port)| *port).collect();
        let port = ports::of_host(&mut given, wanted).map_err(|error| failed(error.into()))?;
        all.insert((host.to_owned(), port));
        Ok(port)
    }

    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Fault::Site {
            act: format!("take port {port} of host `{host}`"),
            source,
        };
        let Some(known) = self.hosts.get(host) else {
            return Err(failed("the site has no such host".into()));
        };
        if !known.on.own_ports {
            return self.keep(PortReservation::take(port)).map(drop).map_err(|error| failed(error.into()));
        }
        let mut all = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        match all.insert((host.to_owned(), port)) {
            true => Ok(()),
            false => Err(failed("another unit has it".into())),
        }
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        Box::pin(async move {
            if !self.hosts.contains_key(&unit.host) {
                let what = format!("host `{}` of unit `{}` is not there", unit.host, unit.name);
                return Err(MissingRequirement { what, hint: "add it to the site".to_owned() });
            }
            preflight::of_unit(unit, &self.hold)
        })
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        Box::pin(async move {
            let process = create::create(self, unit, on_line).await?;
            Ok(Box::new(process) as Box<dyn UnitHandle>)
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin((*self).close_all())
    }

    fn disks(&self) -> Option<&dyn barograph_platform::Disks> {
        (!self.disks.is_empty()).then_some(self)
    }
}

impl barograph_platform::Disks for Local {
    fn fill<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<DiskFill, Fault>> {
        Box::pin(self.disks.fill(unit))
    }

    fn free<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(self.disks.free(unit))
    }
}
