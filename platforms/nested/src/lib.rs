//! Hosts as virtual machines, with every unit on them in a container: two platforms, one in the other.
//!
//! Everything is created by one of the two. An engine is started as a unit in each guest, and the container
//! platform uses it from outside, with the guest's own network for all containers: so a host has one address
//! and ports of its own, like a guest without containers.

mod site;
mod unit;

use std::path::PathBuf;

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, Ledger, LedgerError, MissingRequirement, Platform, PlatformKind,
    Resource, Site, SiteSpec, SweepResult,
};
use barograph_platform_container::{ContainerPlatform, gone_with};
use barograph_platform_vm::VmPlatform;

/// Port of engines in guests. It is not in common use, so the ledger recognises their containers by it.
const ENGINE_PORT: u16 = 23_755;

/// Paths of the engine's program.
const ENGINES: [&str; 3] = ["/usr/sbin/dockerd", "/usr/bin/dockerd", "/usr/local/bin/dockerd"];

/// Its name and abilities.
pub const KIND: PlatformKind =
    PlatformKind { name: "container-in-vm", abilities: &[Ability::Hosts, Ability::Machines, Ability::Links] };

/// Containers in virtual machines.
#[derive(Clone, Debug)]
pub struct NestedPlatform {
    vm: VmPlatform,
    container: ContainerPlatform,
}

impl NestedPlatform {
    /// Combines the two platforms.
    #[must_use]
    pub fn new(vm: VmPlatform, container: ContainerPlatform) -> Self {
        NestedPlatform { vm, container }
    }
}

impl Platform for NestedPlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(async move {
            if let Some(disk) = site.disks.first() {
                return Err(vec![MissingRequirement {
                    what: format!(
                        "unit `{}` cannot have a file system of its own in a guest's container",
                        disk.unit
                    ),
                    hint: "use platform `container` or `vm`".to_owned(),
                }]);
            }
            let guests = self.vm.preflight(&site::of_guests(site)).await;
            let no_engine = MissingRequirement {
                what: "no container engine that guests could run: no dockerd".to_owned(),
                hint: "apt-get install -y --no-install-recommends docker.io".to_owned(),
            };
            match (guests, engine()) {
                (Ok(mut facts), Some(_)) => {
                    facts.push(("containers".to_owned(), "an engine in each virtual machine".to_owned()));
                    Ok(facts)
                }
                (Ok(_), None) => Err(vec![no_engine]),
                (Err(missing), Some(_)) => Err(missing),
                (Err(mut missing), None) => {
                    missing.push(no_engine);
                    Err(missing)
                }
            }
        })
    }

    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let program = engine().ok_or_else(|| Fault::Site {
                act: "find the container engine".to_owned(),
                source: "dockerd is not on this machine".into(),
            })?;
            let nested = site::NestedSite::open((&self.vm, &self.container), &program, site, ledger).await?;
            Ok(Box::new(nested) as Box<dyn Site>)
        })
    }

    /// Engines end with their guests, and guests with the program that created them: there is nothing left to
    /// ask.
    fn sweeps_by_asking(&self) -> bool {
        true
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(async move {
            let mut swept = SweepResult::default();
            for left in ledger.left() {
                if let Resource::Container { engine, .. }
                | Resource::ContainerNetwork { engine, .. }
                | Resource::Image { engine, .. } = &left.thing
                    && engine.ends_with(&format!(":{ENGINE_PORT}"))
                {
                    swept.append(gone_with(ledger, engine)?);
                }
            }
            Ok(swept)
        })
    }
}

fn engine() -> Option<PathBuf> {
    ENGINES.iter().map(PathBuf::from).find(|path| path.is_file())
}
