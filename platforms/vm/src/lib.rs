//! Hosts as virtual machines of QEMU.
//!
//! A guest boots the distribution's cloud kernel with an initial file system of this crate, and then has this
//! machine's programs, from an image of them, under the same paths; its changes stay in its memory. A disk of
//! its own is mounted at the site's folder, so that databases write to a disk. An agent in the guest, which
//! is this same program, creates units there as the process platform does here; a virtio serial port connects
//! the two.
//!
//! QEMU runs the guests with KVM if a guest of it works, and otherwise emulates them: then everything works,
//! and no figure is meaningful for the performance of virtual machines. Only for x86-64 machines and Linux
//! guests.
//!
//! Everything that this platform creates is a process, a folder or part of a switch, so the sweeps of the
//! process platform and of the switch remove the leftovers of a killed run.

mod accel;
mod agent;
mod cache;
mod clock;
mod cpio;
mod emulator;
mod host;
mod host_commands;
mod image;
mod initramfs;
mod kernel;
mod libvirt;
mod machines;
mod moves;
mod open;
mod port;
mod preflight;
mod qmp;
mod settings;
mod site;
mod snapshots;
mod stamp;
mod unit;
mod wire;

use std::path::PathBuf;

use barograph_platform::{
    Ability, BoxFuture, Facts, Fault, Ledger, LedgerError, MissingRequirement, Platform, PlatformKind, Site,
    SiteSpec, SweepResult,
};

pub use agent::{AgentError, agent_main};
pub use host::ClockOffset;
pub use site::VmSite;

/// A program that is both the agent in the guests and the relay of the switch, usually this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// Words that make it call [`agent_main`] with the words after them.
    pub agent: Vec<String>,
    /// Words that make it call `barograph_virtual_network::relay_main` with the words after them.
    pub relay: Vec<String>,
}

/// Its name and abilities.
pub const KIND: PlatformKind = PlatformKind {
    name: "vm",
    abilities: &[Ability::Hosts, Ability::Machines, Ability::Links, Ability::Disks, Ability::Moves],
};

/// Creates every host of a site as a virtual machine. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone, Debug)]
pub struct VmPlatform {
    program: Program,
}

impl VmPlatform {
    /// Makes a platform with the program for the guests.
    #[must_use]
    pub fn new(program: Program) -> Self {
        VmPlatform { program }
    }

    /// As [`Platform::open`], with the functions that only a site of virtual machines has.
    pub async fn open_site(&self, site: &SiteSpec, ledger: &Ledger) -> Result<VmSite, Fault> {
        open::open(&self.program, site, ledger).await
    }
}

impl Platform for VmPlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        Box::pin(async move { preflight::look(site) })
    }

    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move { Ok(Box::new(self.open_site(site, ledger).await?) as Box<dyn Site>) })
    }

    /// No kind of thing belongs to this platform alone: see above.
    fn sweep<'a>(&'a self, _ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        Box::pin(async { Ok(SweepResult::default()) })
    }
}
