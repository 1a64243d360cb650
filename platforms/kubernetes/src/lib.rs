//! Units as pods of a Kubernetes cluster.
//!
//! A site is a namespace, a host is a service with an address that stays, and a unit is a pod behind the
//! service of its host. Pods are scheduled, limited and ended by the cluster. They are not restarted: the end of
//! a unit is a fact for the record.
//!
//! The programs are this machine's, or those of an image; files are this machine's in any case, so nodes must
//! see them: they are this machine, or share a file system with it.

mod access;
mod autoscaler;
mod claims;
mod create;
mod drained;
mod events;
mod groups;
mod logs;
mod mounts;
mod names;
mod nodes;
mod objects;
mod open;
mod options;
mod pod_state;
mod preflight;
mod quantity;
mod removal;
mod rights;
mod running;
mod sent;
mod site;
mod sweep;
mod unit_pod;
mod watch;

pub use unit_pod::IMAGE_USER;

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, Ledger, LedgerError, MissingRequirement, Platform, PlatformKind, Site,
    SiteSpec, SweepResult,
};

/// Its name and abilities.
pub const KIND: PlatformKind =
    PlatformKind { name: "kubernetes", abilities: &[Ability::Hosts, Ability::Pods, Ability::Autoscaler] };

/// Runs units as pods. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct KubernetesPlatform;

impl Platform for KubernetesPlatform {
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
        Box::pin(preflight::look(site))
    }

    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let site = open::open(site, ledger).await?;
            Ok(Box::new(site) as Box<dyn Site>)
        })
    }

    /// Pods are removed before the folders that they see.
    fn sweeps_by_asking(&self) -> bool {
        true
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(sweep::sweep(ledger))
    }
}
