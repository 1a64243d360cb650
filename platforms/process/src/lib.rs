//! Units as child processes of this machine.
//!
//! All hosts of a site are the machine itself, unless somebody who has made real ones says how a command gets there
//! ([`Local::with_host`]): the namespace platform and the agent inside virtual machines build on that.
//!
//! A unit leads its own process group, so that a Ctrl-C in the terminal reaches the driver alone and a signal to the
//! unit reaches its children. Children may leave that group, so the end of a unit is made exact by a control group of
//! its own, or else by a process namespace; see [`Hold`]. A driver that is killed takes its units along in two ways: a
//! unit's stdin is a pipe that only the driver holds, so a unit that watches stdin (ours do) sees its end and stops;
//! any other is removed by [`Platform::sweep`], which finds it by the ledger.

mod answer;
mod bytes;
mod command;
mod create;
mod disks;
mod folders;
mod groups;
mod held;
mod ignored;
mod local;
mod ports;
mod preflight;
mod proc_fs;
mod running;
mod start;
mod sweep;
mod wait;
mod watch;

use barograph_platform::{
    Ability, Facts, Fault, Later, Ledger, LedgerError, Missing, Platform, PlatformKind, Site, SiteSpec, Swept,
};

pub use answer::until_answered;
pub use held::Hold;
pub use local::{HostOn, Local};

/// Its name and what it can do.
pub const KIND: PlatformKind =
    PlatformKind { name: "process", abilities: &[Ability::Processes, Ability::Disks] };

/// Runs units as child processes. Needs a tokio runtime with time and I/O switched on.
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

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> Later<'a, Result<Facts, Vec<Missing>>> {
        Box::pin(async move { preflight::of_site(site) })
    }

    fn open<'a>(&'a self, site: &'a SiteSpec, ledger: &'a Ledger) -> Later<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move {
            let local = Local::open(site, ledger).with_folder()?;
            Ok(Box::new(local) as Box<dyn Site>)
        })
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>> {
        Box::pin(sweep::sweep(ledger))
    }
}
