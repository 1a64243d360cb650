//! Keeping all processes of one unit together, so that none is missed when they are paused or ended.

use std::io;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use barograph_cgroup::{Group, Hierarchies};
use barograph_platform::SiteSpec;
use rustix::process::{Signal, getgid, getuid};

use crate::proc_fs::{Namespace, StuckProcesses, children, marked, signal_group, signal_one};

/// Method of keeping the processes of units together. Daemons leave the process group of a unit, and some
/// programs (such as PostgreSQL) overwrite the environment that carries the mark.
#[derive(Clone, Debug)]
pub enum Containment {
    /// A control group for each unit. Exact: no process leaves it, and it is killed as a whole.
    ControlGroup(Arc<Hierarchies>),
    /// A process namespace for each unit. Also exact, but without limits.
    Namespace,
    /// Process group, and a mark in the environment. A child that leaves the group and drops the mark is
    /// lost.
    Mark,
}

/// Option of a site for the way: `control-group`, `namespace` or `mark`. By default the best one is used.
pub(crate) const OPTION: &str = "hold";

impl Containment {
    /// Chooses the requested way if this machine supports it, or else the best one.
    pub(crate) fn choose(spec: &SiteSpec) -> Self {
        let wanted = spec.option(OPTION).unwrap_or("control-group");
        if wanted == "control-group"
            && let Ok(hierarchies) = Hierarchies::find()
        {
            return Containment::ControlGroup(Arc::new(hierarchies));
        }
        if wanted != "mark" && namespaces_work() { Containment::Namespace } else { Containment::Mark }
    }

    /// Returns its name, as in the option.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Containment::ControlGroup(_) => "control-group",
            Containment::Namespace => "namespace",
            Containment::Mark => "mark",
        }
    }
}

/// First process of a namespace. It ignores signals that it does not handle, so it is a shell, which waits
/// for the program as its child and ends as that does. Its own stderr is discarded, as it would log how it
/// ended.
const FIRST: [&str; 5] = ["--", "/bin/sh", "-c", r#"exec 9>&2 2>/dev/null; "$@" 2>&9 9>&-; exit $?"#, "sh"];

/// Returns the words before a command that give it a process namespace.
pub(crate) fn namespace_command() -> Vec<String> {
    let mut words = vec!["unshare".to_owned()];
    if !getuid().is_root() {
        // Users other than root need a user namespace, in which they keep their identity.
        words.extend([
            "--user".to_owned(),
            format!("--map-user={}", getuid().as_raw()),
            format!("--map-group={}", getgid().as_raw()),
        ]);
    }
    words.extend(["--pid", "--fork", "--kill-child=KILL"].map(str::to_owned));
    words.extend(FIRST.map(str::to_owned));
    words
}

/// Tries it, as only that shows whether it is allowed.
fn namespaces_work() -> bool {
    let words = namespace_command();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Keeps the processes of one unit together. Shared by the unit, its steps and their watchers; the last one
/// to be dropped ends the rest and removes the control group.
#[derive(Debug)]
pub(crate) enum UnitContainment {
    Group(Group),
    Namespace,
    Mark,
}

impl UnitContainment {
    pub(crate) fn group(&self) -> Option<&Group> {
        match self {
            UnitContainment::Group(group) => Some(group),
            _ => None,
        }
    }

    /// Returns the words before the command.
    pub(crate) fn command(&self) -> Vec<String> {
        match self {
            UnitContainment::Group(group) => group.enter_command(),
            UnitContainment::Namespace => namespace_command(),
            UnitContainment::Mark => Vec::new(),
        }
    }
}

impl Drop for UnitContainment {
    fn drop(&mut self) {
        if let UnitContainment::Group(group) = self {
            // Groups that stay are below that of the site, which is in the ledger.
            let _ = group.kill_all();
            group.try_remove();
        }
    }
}

/// A process with all its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    /// The started process, which leads its group.
    pub(crate) leader: u32,
    pub(crate) mark: String,
    pub(crate) holding: Arc<UnitContainment>,
    /// In a namespace: the program itself, and the namespace.
    inside: OnceLock<(u32, Namespace)>,
    /// Processes for which a search for the mark waited in vain.
    stuck: Mutex<StuckProcesses>,
}

/// Largest number of rounds of stopping: new processes may be created while others are stopped.
const STOP_ROUNDS: u32 = 20;

impl ProcessTree {
    pub(crate) fn new(leader: u32, mark: String, holding: Arc<UnitContainment>) -> Self {
        ProcessTree { leader, mark, holding, inside: OnceLock::new(), stuck: Mutex::default() }
    }

    /// Returns the program's own process; `None` until the words before it have executed it.
    pub(crate) fn program(&self) -> Option<u32> {
        if !matches!(*self.holding, UnitContainment::Namespace) {
            return Some(self.leader);
        }
        if let Some((pid, _)) = self.inside.get() {
            return Some(*pid);
        }
        let namespace = Namespace::of_children(self.leader)?;
        let first = *children(self.leader).first()?;
        let program = *children(first).first()?;
        Some(self.inside.get_or_init(|| (program, namespace)).0)
    }

    /// Sends a signal to the process group of the program.
    pub(crate) fn ask(&self, signal: Signal) -> io::Result<()> {
        match *self.holding {
            // The processes around the program would handle the signal themselves.
            UnitContainment::Namespace => self.program().map_or(Ok(()), |pid| signal_one(pid, signal)),
            _ => signal_group(self.leader, signal),
        }
    }

    /// Kills everything at once: no process acts on the end of another. The leader may not have entered its
    /// control group yet.
    pub(crate) fn kill(&self) -> io::Result<()> {
        if self.holding.group().is_none() {
            // One that cannot be paused is killed all the same.
            let _ = self.pause();
        }
        let others = self.kill_others();
        others.and(signal_group(self.leader, Signal::KILL))
    }

    /// Kills the processes that remain after the leader has ended.
    pub(crate) fn kill_others(&self) -> io::Result<()> {
        match &*self.holding {
            UnitContainment::Group(group) => group.kill_all().map_err(io::Error::other),
            _ => self.others().into_iter().try_for_each(|pid| signal_one(pid, Signal::KILL)),
        }
    }

    /// Returns all living processes of the unit, possibly without the leader.
    pub(crate) fn others(&self) -> Vec<u32> {
        match &*self.holding {
            UnitContainment::Group(group) => group.processes(),
            UnitContainment::Namespace => match self.inside.get() {
                Some((_, namespace)) => namespace.processes(),
                // The program was not seen yet, or it ended before; its children carry the mark.
                None => self.marked(),
            },
            UnitContainment::Mark => self.marked(),
        }
    }

    fn marked(&self) -> Vec<u32> {
        let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        marked(&self.mark, &mut stuck).into_iter().map(|id| id.pid).collect()
    }

    /// Pauses all processes.
    pub(crate) fn pause(&self) -> io::Result<()> {
        if let UnitContainment::Group(group) = &*self.holding
            && group.can_freeze()
        {
            return group.freeze().map_err(io::Error::other);
        }
        let mut stopped = Vec::new();
        signal_group(self.leader, Signal::STOP)?;
        for _ in 0..STOP_ROUNDS {
            let new: Vec<u32> = self.others().into_iter().filter(|pid| !stopped.contains(pid)).collect();
            if new.is_empty() {
                break;
            }
            new.iter().try_for_each(|&pid| signal_one(pid, Signal::STOP))?;
            stopped.extend(new);
        }
        Ok(())
    }

    /// Resumes all processes.
    pub(crate) fn resume(&self) -> io::Result<()> {
        if let UnitContainment::Group(group) = &*self.holding
            && group.can_freeze()
        {
            return group.thaw().map_err(io::Error::other);
        }
        self.others().into_iter().try_for_each(|pid| signal_one(pid, Signal::CONT))?;
        signal_group(self.leader, Signal::CONT)
    }
}
