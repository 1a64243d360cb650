//! The traits that a platform fulfils.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Ability, Ended, Fault, GuestCounters, Ledger, LedgerError, Limits, LinkSpec, LogTail, PlatformKind,
    SiteSpec, Thing, Unit,
};

/// A boxed future: these traits are used behind `dyn`, a few times per run.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Names and values for the disclosure.
pub type Facts = Vec<(String, String)>;

/// Called with every line a unit prints on stdout, the ready line included. Must return soon: it is called between
/// the reads of the unit's output.
pub type OnLine = Arc<dyn Fn(&str) + Send + Sync>;

/// For units whose lines nobody wants.
#[must_use]
pub fn ignore_lines() -> OnLine {
    Arc::new(|_| {})
}

/// Something that must be there before a site or a unit can be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// What a person can do; a command where there is one.
    pub hint: String,
}

/// What a sweep found. A thing that could not be removed stays in the ledger for the next sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Removed now.
    pub removed: Vec<Thing>,
    /// Noted, and no longer there.
    pub already_gone: Vec<Thing>,
    /// Still there, with the reason.
    pub failed: Vec<(Thing, String)>,
}

impl Swept {
    /// Whether there was nothing at all to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.already_gone.is_empty() && self.failed.is_empty()
    }

    /// Takes in what another sweep found.
    pub fn append(&mut self, mut other: Swept) {
        self.removed.append(&mut other.removed);
        self.already_gone.append(&mut other.already_gone);
        self.failed.append(&mut other.failed);
    }
}

/// A kind of place where units can run.
pub trait Platform: Send + Sync {
    /// Its name and what it can do.
    fn kind(&self) -> PlatformKind;

    /// Its name in plans and records.
    fn name(&self) -> &'static str {
        self.kind().name
    }

    /// Whether it can do that.
    fn has(&self, ability: Ability) -> bool {
        self.kind().has(ability)
    }

    /// Looks whether such a site could be made here, without making anything: everything that is missing, or facts for
    /// the disclosure (how it isolates, what is emulated).
    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> Later<'a, Result<Facts, Vec<Missing>>>;

    /// Makes the hosts of a site. When this fails, or when its future is dropped, what was made is removed, or left to
    /// [`Platform::sweep`] by the ledger.
    fn open<'a>(&'a self, site: &'a SiteSpec, ledger: &'a Ledger) -> Later<'a, Result<Box<dyn Site>, Fault>>;

    /// A word for the form in which folders of its units lie on this machine, under the path that the unit has: equal for
    /// platforms that may take over each other's. `None` when they do not lie here, as in a virtual machine.
    fn folders(&self) -> Option<&'static str> {
        None
    }

    /// Whether a host is limited by the same means as a unit, so that looking at a host's limits tells of a unit's.
    fn limits_hosts_as_units(&self) -> bool {
        false
    }

    /// Whether its sweep asks processes that the ledger names too, so that it must come before those are ended.
    fn sweeps_by_asking(&self) -> bool {
        false
    }

    /// Removes everything of its kinds that the ledger still names, newest first. Safe to repeat.
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>>;
}

/// Hosts that are there. Dropping it ends everything on them without grace.
pub trait Site: Send + Sync {
    /// Where units of this host answer, for units of other hosts and for this process. `None` for a host the site does
    /// not have.
    fn address(&self, host: &str) -> Option<IpAddr>;

    /// A port of this host that nothing of this site uses: `wanted` where the host has ports of its own, any free one
    /// where it shares them with the machine. `wanted` 0 takes any. Never gives the same one twice.
    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault>;

    /// Takes exactly this port of a host, so that [`Site::port`] gives it to nobody. Fails when somebody has it.
    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        match self.port(host, port)? {
            given if given == port => Ok(()),
            _ => Err(Fault::Site {
                act: format!("take port {port} of host `{host}`"),
                source: "it is not free".into(),
            }),
        }
    }

    /// Looks whether `unit` could be created here, without creating anything.
    fn preflight<'a>(&'a self, unit: &'a Unit) -> Later<'a, Result<Facts, Missing>>;

    /// Creates `unit` on its host and waits until it is ready (for a job: until it ended well). When this fails, or when
    /// its future is dropped, the unit does not run any more.
    fn create<'a>(&'a self, unit: &'a Unit, on_line: OnLine) -> Later<'a, Result<Box<dyn Running>, Fault>>;

    /// What was found out while the hosts were made, beside what [`Platform::preflight`] says: what accelerates them, how
    /// long they took.
    fn facts(&self) -> Facts {
        Facts::new()
    }

    /// Removes the hosts, after their units were stopped.
    fn close(self: Box<Self>) -> Later<'static, Result<(), Fault>>;

    /// The ability to change how hosts hang on the network while they run.
    fn network(&self) -> Option<&dyn Network> {
        None
    }

    /// The abilities of virtual machines.
    fn machines(&self) -> Option<&dyn Machines> {
        None
    }

    /// The ability to ask hosts what their own kernels count.
    fn guests(&self) -> Option<&dyn Guests> {
        None
    }

    /// The ability to fill file systems of units; see [`SiteSpec::disks`].
    fn disks(&self) -> Option<&dyn Disks> {
        None
    }
}

/// A site whose hosts have kernels of their own: what they count, this machine's kernel cannot see.
pub trait Guests: Send + Sync {
    /// The hosts that can be asked.
    fn hosts(&self) -> Vec<String>;

    /// Reads the counters of a host's kernel. May be dropped before it ends.
    fn counters<'a>(&'a self, host: &'a str) -> Later<'a, Result<GuestCounters, Fault>>;
}

/// What it took to fill a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Bytes that were free and are not any more.
    pub bytes: u64,
    /// What kind of file system it is, as people say it.
    pub kind: String,
}

/// A site whose units have file systems of their own.
pub trait Disks: Send + Sync {
    /// Leaves not a byte free on the file system of `unit`, whether it runs or not.
    fn fill<'a>(&'a self, unit: &'a Unit) -> Later<'a, Result<Filled, Fault>>;

    /// Frees what [`Disks::fill`] took.
    fn free<'a>(&'a self, unit: &'a Unit) -> Later<'a, Result<(), Fault>>;
}

/// A unit that was created. Dropping it ends the unit without grace.
pub trait Running: Send + Sync {
    /// The unit's name.
    fn name(&self) -> &str;

    /// Its process on this machine, if it has one.
    fn pid(&self) -> Option<u32>;

    /// Where it answers, for others: a job has no address.
    fn address(&self) -> Option<SocketAddr>;

    /// Waits for its end. May be called often and from several tasks at once; says at once how an ended unit ended.
    fn wait_exit(&self) -> Later<'_, Ended>;

    /// Asks it to end, and kills it after `grace`. A unit that has ended already is fine.
    fn stop(&self, grace: Duration) -> Later<'_, Result<Ended, Fault>>;

    /// Ends it at once.
    fn kill(&self) -> Later<'_, Result<Ended, Fault>>;

    /// Where what it uses can be read.
    fn accounts(&self) -> Accounts {
        Accounts::default()
    }

    /// The ability to be held and let go.
    fn pausing(&self) -> Option<&dyn Pause> {
        None
    }

    /// The ability to show its log.
    fn logs(&self) -> Option<&dyn Logs> {
        None
    }

    /// The ability to be given other limits while it runs.
    fn limiting(&self) -> Option<&dyn Limit> {
        None
    }
}

/// Where this machine's kernel counts what a unit uses. Of several, the first that can be read counts the most: control
/// groups know children that have ended, processes do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Folders of control groups, in whatever hierarchies there are.
    pub cgroups: Vec<PathBuf>,
    /// The process whose tree it is; of a virtual machine its emulator.
    pub pid: Option<u32>,
    /// Whether the figures are those of a whole virtual machine, emulation included.
    pub machine: bool,
}

/// A unit that can be held in place and let go on. Both keep this thread until it is done, which may take seconds.
pub trait Pause: Send + Sync {
    /// Holds it: it keeps its memory and connections, and does nothing.
    fn pause(&self) -> Result<(), Fault>;
    /// Lets it go on.
    fn resume(&self) -> Result<(), Fault>;
}

/// A unit whose log can be read.
pub trait Logs: Send + Sync {
    /// Its last `lines` lines, or fewer.
    fn tail(&self, lines: usize) -> LogTail;
}

/// A unit whose limits can be changed.
pub trait Limit: Send + Sync {
    /// Puts other limits in the place of those it has. Keeps this thread until it is done, which may take seconds.
    fn limit(&self, limits: &Limits) -> Result<(), Fault>;
}

/// A site whose network can be changed.
pub trait Network: Send + Sync {
    /// Gives a host another link.
    fn shape<'a>(&'a self, host: &'a str, link: LinkSpec) -> Later<'a, Result<(), Fault>>;

    /// Takes these hosts off the network of all others; they still see each other.
    fn partition<'a>(&'a self, hosts: &'a [String]) -> Later<'a, Result<(), Fault>>;

    /// Ends every partition.
    fn heal(&self) -> Later<'_, Result<(), Fault>>;

    /// Processes that carry the traffic of hosts, by host: what they use is part of what the platform costs.
    fn carriers(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// How the network is made and how exact it was found to be, for the disclosure.
    fn facts(&self) -> Facts {
        Vec::new()
    }
}

/// How long an operation on a virtual machine took, and for how long its guest stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// From the wish to the end.
    pub took: Duration,
    /// The guest did nothing.
    pub downtime: Duration,
    /// Bytes of memory or disk that were carried over.
    pub bytes: u64,
}

/// What can be done with the virtual machines of a site while they run.
pub trait Machines: Send + Sync {
    /// Moves a running host to another emulator on this machine, memory and devices.
    fn migrate<'a>(&'a self, host: &'a str) -> Later<'a, Result<Moved, Fault>>;

    /// Moves the disk of a running host into another file.
    fn mirror<'a>(&'a self, host: &'a str) -> Later<'a, Result<Moved, Fault>>;

    /// Keeps memory and disk of a running host under a name, in its disk. A name is given once, and the guest's agent
    /// must answer. When the host's disk is moved or cloned, what was kept before is left behind. Is done to its end also
    /// when its future is dropped.
    fn snapshot<'a>(&'a self, host: &'a str, name: &'a str) -> Later<'a, Result<Moved, Fault>>;

    /// Takes a running host back to what was kept under a name, as often as wanted; the bytes are those of the memory
    /// that was kept, 0 where the emulator does not tell. A name that is not known is refused before anything is done.
    /// Is done to its end also when its future is dropped.
    ///
    /// Memory and disk are as they were, with the processes of then; the guest's clock is put right. Units that this
    /// site created after the snapshot have ended, as [`Ended::Unknown`]. Units that were there and still are go on as
    /// they were then, and what they said since may come again. Units that were there and have ended since do not run.
    /// What waits for the guest's answer fails. Connections do not stay.
    ///
    /// A guest whose agent does not answer cannot go back, and goes on. When the way back fails halfway, the host is
    /// ended with all its units, and the fault says so.
    fn restore<'a>(&'a self, host: &'a str, name: &'a str) -> Later<'a, Result<Moved, Fault>>;

    /// Makes a host whose disk is a copy-on-write clone of another's and boots it, until its agent answers.
    fn clone_host<'a>(&'a self, host: &'a str, name: &'a str) -> Later<'a, Result<Moved, Fault>>;
}
