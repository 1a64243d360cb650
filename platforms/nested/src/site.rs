//! A site: guests, their engines, and the containers of each.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{
    BoxFuture, Facts, Fault, Guests, HERE, HostSpec, Ledger, Limits, Machines, MissingRequirement, Network,
    OnLine, Platform, Readiness, ReadinessCheck, Site, SiteSpec, Unit, UnitFile, UnitHandle, ignore_lines,
};
use barograph_platform_container::{
    ContainerPlatform, EngineOptions, NO_SETTINGS, SETTINGS, engine_arguments,
};
use barograph_platform_vm::{VmPlatform, VmSite};
use futures::future::{join_all, try_join_all};

use crate::ENGINE_PORT;
use crate::unit::NestedUnit;

/// Longest wait for an engine; an emulated one takes ten times as long as one on this machine.
const ENGINE_WAIT: Duration = Duration::from_secs(180);

/// Largest number of attempts to start an engine.
const ATTEMPTS: u32 = 3;

/// Longest time in which an engine without containers ends.
const ENGINE_GRACE: Duration = Duration::from_secs(20);

/// Prefix of the folders for containers' files, in the folder of the site.
const CONTAINERS: &str = "containers";

/// Options for guests; all others are for containers.
const OF_GUESTS: [&str; 7] =
    ["accel", "manager", "cache", "disk_gib", "boot_seconds", "leave_out", "modules"];

/// Returns the site of the guests.
pub(crate) fn of_guests(site: &SiteSpec) -> SiteSpec {
    let options = site.options.iter().filter(|(name, _)| OF_GUESTS.contains(&name.as_str()));
    SiteSpec { options: options.cloned().collect(), disks: Vec::new(), ..site.clone() }
}

/// An open site. Its parts are dropped from the inside out.
pub(crate) struct NestedSite {
    containers: BTreeMap<String, Box<dyn Site>>,
    /// Engine of each host.
    engines: BTreeMap<String, Box<dyn UnitHandle>>,
    vm: VmSite,
}

impl NestedSite {
    pub(crate) async fn open(
        (vm, container): (&VmPlatform, &ContainerPlatform),
        program: &Path,
        spec: &SiteSpec,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let guests = vm.open_site(&of_guests(spec), ledger).await?;
        let hosts = || spec.hosts.iter().filter(|host| host.name != HERE);
        let engines = hosts().map(|host| start_engine(&guests, program, spec, host));
        let engines = try_join_all(engines).await?;
        let inside = hosts().map(|host| open_containers(container, &guests, (spec, host), ledger));
        let containers = try_join_all(inside).await?;
        let engines = hosts().map(|host| host.name.clone()).zip(engines).collect();
        Ok(NestedSite { containers: containers.into_iter().collect(), engines, vm: guests })
    }

    fn of(&self, host: &str) -> &dyn Site {
        self.containers.get(host).map_or(&self.vm as &dyn Site, |containers| containers.as_ref())
    }

    async fn close_all(self) -> Result<(), Fault> {
        let NestedSite { containers, engines, vm } = self;
        // Each guest has its own, and an emulated engine takes seconds to end.
        let closed = join_all(containers.into_values().map(|site| site.close())).await;
        let stop = async |engine: Box<dyn UnitHandle>| engine.stop(ENGINE_GRACE).await.map(drop);
        let stopped = join_all(engines.into_values().map(stop)).await;
        let off = Box::new(vm).close().await;
        closed.into_iter().chain(stopped).chain([off]).collect()
    }
}

/// Starts the engine of a guest as a unit. It gives its own helper 15 s to start, which emulation on a busy
/// machine can exceed, so it is retried.
async fn start_engine(
    guests: &VmSite,
    program: &Path,
    spec: &SiteSpec,
    host: &HostSpec,
) -> Result<Box<dyn UnitHandle>, Fault> {
    let mut attempt = 1;
    loop {
        match try_engine(guests, program, (spec, host), attempt).await {
            Err(Fault::EndedEarly { .. }) if attempt < ATTEMPTS => attempt += 1,
            started => return started,
        }
    }
}

async fn try_engine(
    guests: &VmSite,
    program: &Path,
    (spec, host): (&SiteSpec, &HostSpec),
    attempt: u32,
) -> Result<Box<dyn UnitHandle>, Fault> {
    let address = SocketAddr::new(address_of(guests, &host.name)?, ENGINE_PORT);
    // The paths of its sockets must be short, and a guest has one engine.
    let folder = PathBuf::from(format!("/run/engine-{attempt}"));
    let data = spec.folder.join(&host.name).join(format!("engine-{attempt}"));
    let ask = ReadinessCheck::Http { path: "/_ping".to_owned() };
    let ready = Readiness::Answers { ask, address, timeout: ENGINE_WAIT };
    let wishes =
        EngineOptions { folder: folder.clone(), data, group: "containers".to_owned(), tcp: Some(address) };
    let unit = Unit {
        host: host.name.clone(),
        args: engine_arguments(&wishes),
        files: vec![UnitFile { path: SETTINGS.into(), bytes: NO_SETTINGS.to_vec(), mode: 0o644 }],
        workdir: folder,
        log: "/dev/null".into(),
        ..Unit::new(&format!("engine-{}", host.name), program.to_owned(), ready)
    };
    guests.create(&unit, ignore_lines()).await
}

/// Opens the containers of a guest, as a site of one host that has the guest's network.
async fn open_containers(
    container: &ContainerPlatform,
    guests: &VmSite,
    (spec, host): (&SiteSpec, &HostSpec),
    ledger: &Ledger,
) -> Result<(String, Box<dyn Site>), Fault> {
    let address = address_of(guests, &host.name)?;
    let option = |name: &str, value: String| (name.to_owned(), value);
    let mut options = vec![
        option("engine", format!("tcp://{}", SocketAddr::new(address, ENGINE_PORT))),
        option("network", "host".to_owned()),
        option("remote", "true".to_owned()),
    ];
    options.extend(address_of(guests, HERE).ok().map(|here| option("here", here.to_string())));
    let ours =
        |name: &str| OF_GUESTS.contains(&name) || ["network", "engine", "remote", "here"].contains(&name);
    options.extend(spec.options.iter().filter(|(name, _)| !ours(name)).cloned());
    let inner = SiteSpec {
        folder: spec.folder.join(format!("{CONTAINERS}-{}", host.name)),
        disks: Vec::new(),
        // Its limits are those of the guest.
        hosts: vec![HostSpec { name: host.name.clone(), limits: Limits::default(), ..HostSpec::default() }],
        options,
        ..spec.clone()
    };
    Ok((host.name.clone(), container.open(&inner, ledger).await?))
}

fn address_of(guests: &VmSite, host: &str) -> Result<IpAddr, Fault> {
    guests.address(host).ok_or_else(|| Fault::Site {
        act: format!("find the address of host `{host}`"),
        source: "the virtual machine has none".into(),
    })
}

impl Site for NestedSite {
    fn address(&self, host: &str) -> Option<IpAddr> {
        self.vm.address(host)
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        self.vm.port(host, wanted)
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        self.of(&unit.host).preflight(unit)
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        Box::pin(async move {
            let running = self.of(&unit.host).create(unit, on_line).await?;
            Ok(match self.engines.get(&unit.host) {
                Some(engine) => Box::new(NestedUnit { unit: running, machine: engine.accounts() }),
                None => running,
            })
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin(self.close_all())
    }

    fn network(&self) -> Option<&dyn Network> {
        self.vm.network()
    }

    fn guests(&self) -> Option<&dyn Guests> {
        self.vm.guests()
    }

    fn machines(&self) -> Option<&dyn Machines> {
        self.vm.machines()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_to_the_platform_that_knows_them() {
        let option = |name: &str| (name.to_owned(), "x".to_owned());
        let spec = SiteSpec { options: vec![option("accel"), option("network")], ..SiteSpec::default() };
        assert_eq!(of_guests(&spec).options, [option("accel")]);
    }
}
