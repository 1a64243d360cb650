//! Traits of a platform.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::autoscaler::Autoscaling;
use crate::{
    Ability, Fault, GuestCounters, Ledger, LedgerError, Limits, LinkSpec, LogTail, PlatformKind, Resource,
    SiteSpec, Unit, UnitExit,
};

/// A boxed future: these traits are used through `dyn`, a few times per run.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Names and values for the disclosure.
pub type Facts = Vec<(String, String)>;

/// Called with every line that a unit prints on stdout, including the ready line. Must return soon, as it is
/// called between reads of the unit's output.
pub type OnLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns a function that ignores all lines.
#[must_use]
pub fn ignore_lines() -> OnLine {
    Arc::new(|_| {})
}

/// A missing requirement of a site or a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct MissingRequirement {
    /// Name of the requirement.
    pub what: String,
    /// Remedy; a command if there is one.
    pub hint: String,
}

/// Result of a sweep. A thing that could not be removed stays in the ledger for the next sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Things removed now.
    pub removed: Vec<Resource>,
    /// Things in the ledger that no longer existed.
    pub already_gone: Vec<Resource>,
    /// Things that still exist, with the reason.
    pub failed: Vec<(Resource, String)>,
}

impl SweepResult {
    /// Whether there was nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.already_gone.is_empty() && self.failed.is_empty()
    }

    /// Adds the result of another sweep.
    pub fn append(&mut self, mut other: SweepResult) {
        self.removed.append(&mut other.removed);
        self.already_gone.append(&mut other.already_gone);
        self.failed.append(&mut other.failed);
    }
}

/// A kind of place for units.
pub trait Platform: Send + Sync {
    /// Returns its name and abilities.
    fn kind(&self) -> PlatformKind;

    /// Returns its name in plans and records.
    fn name(&self) -> &'static str {
        self.kind().name
    }

    /// Whether it has the ability.
    fn has(&self, ability: Ability) -> bool {
        self.kind().has(ability)
    }

    /// Checks that such a site can be created here, without creating anything. Returns everything that is
    /// missing, or facts for the disclosure (isolation, emulation).
    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>>;

    /// Creates the hosts of a site. On failure, or if its future is dropped, created things are removed, or
    /// left to [`Platform::sweep`] through the ledger.
    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>>;

    /// Returns a name for the form of its units' folders on this machine, below the path that the unit has;
    /// equal for platforms that can exchange them. `None` if they are not on this machine, as in a virtual
    /// machine.
    fn folders(&self) -> Option<&'static str> {
        None
    }

    /// Whether hosts and units are limited by the same means, so that a check of a host's limits covers a
    /// unit's.
    fn limits_hosts_as_units(&self) -> bool {
        false
    }

    /// Whether its sweep needs processes in the ledger to answer, so that it must precede their end.
    fn sweeps_by_asking(&self) -> bool {
        false
    }

    /// Removes all things of its kinds that the ledger still names, newest first. Safe to repeat.
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>>;
}

/// Created hosts. Dropping it ends everything on them at once.
pub trait Site: Send + Sync {
    /// Returns the address of this host's units, for units of other hosts and for this process. `None` for an
    /// unknown host.
    fn address(&self, host: &str) -> Option<IpAddr>;

    /// Returns the address at which this host's units listen: their own, unless others reach them by another
    /// one. `None` for an unknown host.
    fn listen_address(&self, host: &str) -> Option<IpAddr> {
        self.address(host)
    }

    /// Returns an unused port of this host: `wanted` if the host has its own ports, any free one if it shares
    /// them with the machine. `wanted` 0 accepts any. Never returns the same port twice.
    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault>;

    /// Takes exactly this port of a host, so that [`Site::port`] does not return it. Fails if it is in use.
    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        match self.port(host, port)? {
            given if given == port => Ok(()),
            _ => Err(Fault::Site {
                act: format!("take port {port} of host `{host}`"),
                source: "it is not free".into(),
            }),
        }
    }

    /// Checks that `unit` can be created here, without creating anything.
    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>>;

    /// Creates `unit` on its host and waits until it is ready (for a job: until it succeeded). On failure, or
    /// if its future is dropped, the unit does not run any more.
    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>>;

    /// Returns facts from the creation of the hosts, in addition to those of [`Platform::preflight`]:
    /// acceleration, durations.
    fn facts(&self) -> Facts {
        Facts::new()
    }

    /// Removes the hosts, after their units were stopped.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>>;

    /// Returns the ability to change the network of running hosts.
    fn network(&self) -> Option<&dyn Network> {
        None
    }

    /// Returns the abilities of virtual machines.
    fn machines(&self) -> Option<&dyn Machines> {
        None
    }

    /// Returns the ability to read counters of the hosts' own kernels.
    fn guests(&self) -> Option<&dyn Guests> {
        None
    }

    /// Returns the ability to fill file systems of units; see [`SiteSpec::disks`].
    fn disks(&self) -> Option<&dyn Disks> {
        None
    }

    /// Returns the ability to keep units off nodes.
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }

    /// Returns the ability to let an autoscaler follow a tier.
    fn autoscaling(&self) -> Option<&dyn Autoscaling> {
        None
    }
}

/// A site whose units run on nodes that a cluster chooses.
pub trait Nodes: Send + Sync {
    /// Returns the node on which a unit runs; `None` if it runs on none.
    fn node_of<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Option<String>, Fault>>;

    /// Keeps units that start from now on off a node; those that run there stay. Fails if no other node takes
    /// units.
    fn avoid<'a>(&'a self, node: &'a str) -> BoxFuture<'a, Result<(), Fault>>;

    /// Lets units start on all nodes again.
    fn avoid_none(&self);
}

/// A site whose hosts have their own kernels, with counters that this machine's kernel does not see.
pub trait Guests: Send + Sync {
    /// Returns the hosts with counters.
    fn hosts(&self) -> Vec<String>;

    /// Reads the counters of a host's kernel. May be dropped before it ends.
    fn counters<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<GuestCounters, Fault>>;
}

/// Result of filling a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskFill {
    /// Bytes that were free before.
    pub bytes: u64,
    /// Kind of the file system, for users.
    pub kind: String,
}

/// A site whose units have file systems of their own.
pub trait Disks: Send + Sync {
    /// Fills the file system of `unit` to the last byte, whether it runs or not.
    fn fill<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<DiskFill, Fault>>;

    /// Frees the space taken by [`Disks::fill`].
    fn free<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<(), Fault>>;
}

/// A created unit. Dropping it ends the unit at once.
pub trait UnitHandle: Send + Sync {
    /// Returns the unit's name.
    fn name(&self) -> &str;

    /// Returns its process on this machine, if it has one.
    fn pid(&self) -> Option<u32>;

    /// Returns its address; `None` for a job.
    fn address(&self) -> Option<SocketAddr>;

    /// Waits for its end. May be called repeatedly and by several tasks; returns at once for an ended unit.
    fn wait_exit(&self) -> BoxFuture<'_, UnitExit>;

    /// Asks it to end, and kills it after `grace`. Succeeds if it has ended already.
    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>>;

    /// Ends it at once.
    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>>;

    /// Returns the accounts of its resource use.
    fn accounts(&self) -> Accounts {
        Accounts::default()
    }

    /// Returns the ability to pause and resume it.
    fn pausing(&self) -> Option<&dyn Pause> {
        None
    }

    /// Returns the ability to read its log.
    fn logs(&self) -> Option<&dyn Logs> {
        None
    }

    /// Returns the ability to change its limits while it runs.
    fn limiting(&self) -> Option<&dyn Limit> {
        None
    }
}

/// Places at which this machine's kernel counts a unit's resource use. The first readable one has priority:
/// control groups count ended children, processes do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Folders of control groups, in all hierarchies.
    pub cgroups: Vec<PathBuf>,
    /// Root of its process tree; for a virtual machine, its emulator.
    pub pid: Option<u32>,
    /// Whether the figures cover a whole virtual machine, emulation included.
    pub machine: bool,
}

/// A unit that can be paused and resumed. Both block the thread until they are done, which may take seconds.
pub trait Pause: Send + Sync {
    /// Pauses it: it keeps its memory and connections, and does nothing.
    fn pause(&self) -> Result<(), Fault>;
    /// Resumes it.
    fn resume(&self) -> Result<(), Fault>;
}

/// A unit whose log can be read.
pub trait Logs: Send + Sync {
    /// Returns at most its last `lines` lines.
    fn tail(&self, lines: usize) -> LogTail;
}

/// A unit whose limits can be changed.
pub trait Limit: Send + Sync {
    /// Replaces its limits. Blocks the thread until it is done, which may take seconds.
    fn limit(&self, limits: &Limits) -> Result<(), Fault>;
}

/// A site whose network can be changed.
pub trait Network: Send + Sync {
    /// Replaces the link of a host.
    fn shape<'a>(&'a self, host: &'a str, link: LinkSpec) -> BoxFuture<'a, Result<(), Fault>>;

    /// Separates these hosts from all others; they still reach each other.
    fn partition<'a>(&'a self, hosts: &'a [String]) -> BoxFuture<'a, Result<(), Fault>>;

    /// Ends every partition.
    fn heal(&self) -> BoxFuture<'_, Result<(), Fault>>;

    /// Returns processes that carry the traffic of hosts, by host; their resource use is a cost of the
    /// platform.
    fn carriers(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// Returns the implementation of the network and its measured precision, for the disclosure.
    fn facts(&self) -> Facts {
        Vec::new()
    }
}

/// Duration of an operation on a virtual machine, and pause of its guest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineOperation {
    /// Time from the request to the end.
    pub took: Duration,
    /// Time for which the guest did nothing.
    pub downtime: Duration,
    /// The same by the guest's own clock, if measured.
    pub standstill: Option<Standstill>,
    /// Bytes of memory or disk that were transferred.
    pub bytes: u64,
}

/// Standstill of a guest by its own clock, which does not run during it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Its length.
    pub length: Duration,
    /// Largest error of the length.
    pub error: Duration,
}

/// Operations on the running virtual machines of a site.
pub trait Machines: Send + Sync {
    /// Moves a running host to another emulator on this machine, with memory and devices.
    fn migrate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>>;

    /// Moves a running host as [`Machines::migrate`] does, and its disk with it to another file. Earlier snapshots stay
    /// behind.
    fn relocate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>>;

    /// Moves the disk of a running host to another file.
    fn mirror<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>>;

    /// Saves memory and disk of a running host under a name, in its disk. A name can be used once, and the
    /// guest's agent must answer. Moving or cloning the host's disk leaves earlier snapshots behind.
    /// Completes even if its future is dropped.
    fn snapshot<'a>(&'a self, host: &'a str, name: &'a str)
    -> BoxFuture<'a, Result<MachineOperation, Fault>>;

    /// Restores a running host to a snapshot, as often as wanted. The bytes are those of the saved memory, 0
    /// if the emulator does not report them. An unknown name is refused before anything is done. Completes
    /// even if its future is dropped.
    ///
    /// Memory and disk are as they were, with the processes of that time; the guest's clock is corrected.
    /// Units that this site created after the snapshot have ended, as [`UnitExit::Unknown`]. Units that existed
    /// then and still run continue from that state, and may repeat earlier output. Units that existed then
    /// and have ended since do not run. Pending requests to the guest fail. Connections are lost.
    ///
    /// A guest whose agent does not answer cannot be restored, and continues. If restoring fails halfway, the
    /// host is ended with all its units, and the fault says so.
    fn restore<'a>(&'a self, host: &'a str, name: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>>;

    /// Creates a host whose disk is a copy-on-write clone of another's, and boots it until its agent answers.
    fn clone_host<'a>(
        &'a self,
        host: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<MachineOperation, Fault>>;
}
