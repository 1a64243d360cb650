//! Hosts as virtual machines, and every unit on them in a container: two platforms, one in the other.
//!
//! Nothing is made here that one of the two does not make. In each guest an engine is started as a unit, and the
//! container platform uses it from outside, with the guest's own network for all containers: so a host has one address
//! and ports of its own, like a guest without containers.

mod site;
mod unit;

use std::path::PathBuf;

use barograph_platform::{
    Ability, Facts, Fault, Later, Ledger, LedgerError, Missing, Platform, PlatformKind, Site, SiteSpec,
    Swept, Thing,
};
use barograph_platform_container::{ContainerPlatform, gone_with};
use barograph_platform_vm::VmPlatform;

/// Where engines in guests answer. Nobody else uses this port by custom, so the ledger tells their containers by it.
const ENGINE_PORT: u16 = 23_755;

/// Where the engine's program is.
const ENGINES: [&str; 3] = ["/usr/sbin/dockerd", "/usr/bin/dockerd", "/usr/local/bin/dockerd"];

/// Its name and what it can do.
pub const KIND: PlatformKind =
    PlatformKind { name: "container-in-vm", abilities: &[Ability::Hosts, Ability::Machines, Ability::Links] };

/// Containers in virtual machines.
#[derive(Clone, Debug)]
pub struct NestedPlatform {
    vm: VmPlatform,
    container: ContainerPlatform,
}

impl NestedPlatform {
    /// Of the two platforms.
    #[must_use]
    pub fn new(vm: VmPlatform, container: ContainerPlatform) -> Self {
        NestedPlatform { vm, container }
    }
}

impl Platform for NestedPlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> Later<'a, Result<Facts, Vec<Missing>>> {
        Box::pin(async move {
            if let Some(disk) = site.disks.first() {
                return Err(vec![Missing {
                    what: format!(
                        "unit `{}` cannot have a file system of its own in a guest's container",
                        disk.unit
                    ),
                    hint: "use platform `container` or `vm`".to_owned(),
                }]);
            }
            let guests = self.vm.preflight(&site::of_guests(site)).await;
            let no_engine = Missing {
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

    fn open<'a>(&'a self, site: &'a SiteSpec, ledger: &'a Ledger) -> Later<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let program = engine().ok_or_else(|| Fault::Site {
                act: "find the container engine".to_owned(),
                source: "dockerd is not on this machine".into(),
            })?;
            let nested = site::NestedSite::open((&self.vm, &self.container), &program, site, ledger).await?;
            Ok(Box::new(nested) as Box<dyn Site>)
        })
    }

    /// Engines in guests end with them, and guests with the program that made them: there is nobody to ask.
    fn sweeps_by_asking(&self) -> bool {
        true
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>> {
        Box::pin(async move {
            let mut swept = Swept::default();
            for left in ledger.left() {
                if let Thing::Container { engine, .. }
                | Thing::ContainerNetwork { engine, .. }
                | Thing::Image { engine, .. } = &left.thing
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
