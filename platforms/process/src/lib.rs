//! Units as child processes of this machine.
//!
//! All hosts of a site are the machine itself, unless a caller with real hosts defines how a command gets
//! there ([`Local::with_host`]), as the namespace platform and the agent inside virtual machines do.
//!
//! A unit leads its own process group, so that a Ctrl-C in the terminal reaches only the driver, and a signal
//! to the unit reaches its children. Children may leave that group, so a control group or else a process
//! namespace makes the end of a unit exact; see [`Containment`]. The units of a killed driver end in two ways: a
//! unit's stdin is a pipe that only the driver holds, so a unit that watches stdin (as Barograph's own do)
//! sees its end and stops; any other is removed by [`Platform::sweep`], which finds it by the ledger.

mod answer;
mod bytes;
mod command;
mod containment;
mod create;
mod disks;
mod folders;
mod groups;
mod ignored;
mod local;
mod output;
mod ports;
mod preflight;
mod proc_fs;
mod running;
mod start;
mod sweep;
mod wait;
mod watch;

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, Ledger, LedgerError, MissingRequirement, Platform, PlatformKind, Site,
    SiteSpec, SweepResult,
};

pub use answer::until_answered;
pub use containment::Containment;
pub use local::{HostEntry, Local};
pub use output::open_output;

/// Its name and abilities.
pub const KIND: PlatformKind =
    PlatformKind { name: "process", abilities: &[Ability::Processes, Ability::Disks, Ability::DiskRates] };

/// Runs units as child processes. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessPlatform;

impl Platform for ProcessPlatform {
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
            let local = Local::open(site, ledger).with_folder()?;
            Ok(Box::new(local) as Box<dyn Site>)
        })
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(sweep::sweep(ledger))
    }
}
