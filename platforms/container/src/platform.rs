//! The container platform.

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, Ledger, LedgerError, MissingRequirement, Platform, PlatformKind, Site,
    SiteSpec, SweepResult,
};
use barograph_virtual_network::RelayProgram;

use crate::{open, preflight, sweep};

/// Its name and abilities.
pub const KIND: PlatformKind = PlatformKind {
    name: "container",
    abilities: &[Ability::Hosts, Ability::Containers, Ability::Drivers, Ability::Disks, Ability::DiskRates],
};

/// Runs units in containers. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone, Debug)]
pub struct ContainerPlatform {
    relay: RelayProgram,
}

impl ContainerPlatform {
    /// Makes a platform. A switch of its own engine starts `relay` for links with a delay; plain links need
    /// none.
    #[must_use]
    pub fn new(relay: RelayProgram) -> Self {
        ContainerPlatform { relay }
    }
}

impl Platform for ContainerPlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    /// Another user may own them; they are given to that user again before a unit starts.
    fn folders(&self) -> Option<&'static str> {
        Some("container")
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(preflight::look(site))
    }

    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let site = open::open(&self.relay, site, ledger).await?;
            Ok(Box::new(site) as Box<dyn Site>)
        })
    }

    fn sweeps_by_asking(&self) -> bool {
        true
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(sweep::sweep(ledger))
    }
}
