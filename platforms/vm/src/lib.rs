//! Hosts as virtual machines of QEMU.
//!
//! A guest boots the distribution's cloud kernel with a first file system of ours, and then has this machine's
//! programs, from an image of them, under the same paths as here; what it changes stays in its memory. A disk of its
//! own is mounted at the site's folder, so that databases write to a disk. An agent in the guest, which is this very
//! program, creates units there as the process platform does here; they speak through a virtio serial port.
//!
//! QEMU runs the guests by KVM where a guest of it speaks, and else translates them: then everything works, and no
//! figure says anything about the performance of virtual machines. Not for machines of another architecture than
//! x86-64, nor for guests that are not Linux.
//!
//! Everything this platform makes is a process, a folder or part of a switch, so the sweeps of the process platform
//! and of the switch remove what a killed run leaves.

mod accel;
mod agent;
mod cache;
mod clock;
mod cpio;
mod emulator;
mod host;
mod image;
mod initramfs;
mod kernel;
mod machines;
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
mod work;

use std::path::PathBuf;

use barograph_platform::{
    Ability, Facts, Fault, Later, Ledger, LedgerError, Missing, Platform, PlatformKind, Site, SiteSpec, Swept,
};

pub use agent::{AgentError, agent_main};
pub use host::ClockOffset;
pub use site::VmSite;

/// A program that is both the agent in the guests and the relay of the switch: this one, as a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its absolute path.
    pub path: PathBuf,
    /// The words that make it call [`agent_main`] with the words behind them.
    pub agent: Vec<String>,
    /// The words that make it call `barograph_virtual_network::relay_main` with the words behind them.
    pub relay: Vec<String>,
}

/// Its name and what it can do.
pub const KIND: PlatformKind = PlatformKind {
    name: "vm",
    abilities: &[Ability::Hosts, Ability::Machines, Ability::Links, Ability::Disks, Ability::Moves],
};

/// Makes every host of a site a virtual machine. Needs a tokio runtime with time and I/O switched on.
#[derive(Clone, Debug)]
pub struct VmPlatform {
    program: Program,
}

impl VmPlatform {
    /// With the program that is started in the guests.
    #[must_use]
    pub fn new(program: Program) -> Self {
        VmPlatform { program }
    }

    /// As [`Platform::open`], with all that only a site of virtual machines has.
    pub async fn open_site(&self, site: &SiteSpec, ledger: &Ledger) -> Result<VmSite, Fault> {
        open::open(&self.program, site, ledger).await
    }
}

impl Platform for VmPlatform {
    fn kind(&self) -> PlatformKind {
        KIND
    }

    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> Later<'a, Result<Facts, Vec<Missing>>> {
        Box::pin(async move { preflight::look(site) })
    }

    fn open<'a>(&'a self, site: &'a SiteSpec, ledger: &'a Ledger) -> Later<'a, Result<Box<dyn Site>, Fault>> {
        Box::pin(async move { Ok(Box::new(self.open_site(site, ledger).await?) as Box<dyn Site>) })
    }

    /// Nothing is only this platform's: see above.
    fn sweep<'a>(&'a self, _ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>> {
        Box::pin(async { Ok(Swept::default()) })
    }
}
