//! Hosts as network namespaces of this machine.
//!
//! Every host of a site is a namespace on a switch (`barograph-virtual-network`) with an address and all
//! ports of its own, and a link that can be limited, delayed and cut while traffic flows. Processor, memory
//! and files are the machine's: units are its processes, started inside the namespace by the process
//! platform, which also keeps their processes together and enforces limits of hosts and units.
//!
//! The machine itself is the host [`HERE`], under the address of the switch's leg: hosts and machine reach
//! each other there. It belongs to "the others" of every partition. Control of units (start, signals, output)
//! does not use the network and works in a partition; requests over the network, such as readiness checks, do
//! not.
//!
//! Without root, the program starts itself again inside a user namespace ([`rootless`]) before it opens a
//! site.

mod preflight;
mod site;

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, HERE, HostSpec, Ledger, LedgerError, MissingRequirement, Platform,
    PlatformKind, Site, SiteSpec, SweepResult,
};
pub use barograph_virtual_network::{HOST_DEVICE, RelayProgram, relay_main, rootless};

/// Option of a site that reserves addresses: names separated by blanks, for addresses that hosts pass to each
/// other (keepalived). [`Site::address`] returns them; the current holder adds one to its device
/// [`HOST_DEVICE`].
pub const VIRTUAL_ADDRESSES: &str = "virtual-addresses";

/// Its name and abilities.
pub const KIND: PlatformKind = PlatformKind {
    name: "namespace",
    abilities: &[
        Ability::Hosts,
        Ability::Processes,
        Ability::Drivers,
        Ability::Links,
        Ability::Offloads,
        Ability::Disks,
        Ability::DiskRates,
        Ability::VirtualAddresses,
    ],
};

/// Creates hosts as network namespaces. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone, Debug)]
pub struct NamespacePlatform {
    relay: RelayProgram,
}

impl NamespacePlatform {
    /// Makes a platform. If the kernel cannot delay packets, `relay` does: its program must pass the
    /// following words to [`relay_main`].
    #[must_use]
    pub fn new(relay: RelayProgram) -> Self {
        NamespacePlatform { relay }
    }
}

impl Platform for NamespacePlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    fn folders(&self) -> Option<&'static str> {
        Some("machine")
    }

    fn limits_hosts_as_units(&self) -> bool {
        true
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(async move { preflight::of_site(site) })
    }

    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let site = site::NamespaceSite::open(site, self.relay.clone(), ledger).await?;
            Ok(Box::new(site) as Box<dyn Site>)
        })
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(barograph_virtual_network::sweep(ledger))
    }
}

/// Hosts that become namespaces; the machine exists already.
fn hosts(spec: &SiteSpec) -> impl Iterator<Item = &HostSpec> {
    spec.hosts.iter().filter(|host| host.name != HERE)
}

/// Whether a host's link needs more than a limit.
fn is_delayed(host: &HostSpec) -> bool {
    !host.link.delay.is_zero() || host.link.loss > 0.0
}
