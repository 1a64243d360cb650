//! The trees of control groups of this machine, and the place in each where we may make groups.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::mounts::{self, Mounted};
use crate::{Error, Why, files};

/// The version of the interface of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree for one or a few controllers.
    One,
    /// The one tree for all of them, also without any.
    Two,
}

/// What a tree can limit or count, of that which we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// CPU time is limited.
    Cpu,
    /// CPU time is counted; in version 2 that needs no controller.
    CpuAccounts,
    /// Cores and memory nodes are chosen.
    CpuSet,
    /// Memory is limited and counted.
    Memory,
    /// Bytes of block devices are counted.
    Io,
    /// Threads are counted.
    Pids,
    /// Groups are frozen; in version 2 that needs no controller.
    Freezer,
}

impl Controller {
    pub(crate) fn of_version_1(name: &str) -> Option<Self> {
        Some(match name {
            "cpu" => Controller::Cpu,
            "cpuacct" => Controller::CpuAccounts,
            "cpuset" => Controller::CpuSet,
            "memory" => Controller::Memory,
            "blkio" => Controller::Io,
            "pids" => Controller::Pids,
            "freezer" => Controller::Freezer,
            _ => return None,
        })
    }

    fn of_version_2(name: &str) -> Option<Self> {
        Some(match name {
            "cpu" => Controller::Cpu,
            "cpuset" => Controller::CpuSet,
            "memory" => Controller::Memory,
            "io" => Controller::Io,
            "pids" => Controller::Pids,
            _ => return None,
        })
    }

    /// Its name in files of version 2, where it has one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::CpuAccounts => "cpuacct",
            Controller::CpuSet => "cpuset",
            Controller::Memory => "memory",
            Controller::Io => "io",
            Controller::Pids => "pids",
            Controller::Freezer => "freezer",
        }
    }
}

/// One tree, and where in it groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Of which version it is.
    pub version: Version,
    /// The folder below which groups of ours are made.
    pub base: PathBuf,
    /// What can be limited or counted in such groups.
    pub controllers: Vec<Controller>,
}

/// All trees in which groups can be made; that of version 2 comes first, for its figures are the fuller ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    list: Vec<Hierarchy>,
}

impl Hierarchies {
    /// Looks what is mounted and what this user may write. Makes nothing.
    ///
    /// Groups are made at the top of what may be written, as container engines do: in version 2 a group that has
    /// processes of its own passes no controllers on, and that of this process has. Limits of the group of this process
    /// therefore do not hold for units.
    pub fn find() -> Result<Self, Why> {
        let read = |path: &str| {
            fs::read_to_string(path)
                .map_err(|error| Why::Unreadable { path: path.into(), reason: error.to_string() })
        };
        Self::among(&mounts::parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?))
    }

    pub(crate) fn among(mounted: &[Mounted]) -> Result<Self, Why> {
        let first = mounted.first().ok_or(Why::NotMounted)?;
        let two = mounted.iter().any(|m| m.version == Version::Two && base(m).is_some());
        let mut list: Vec<Hierarchy> = mounted
            .iter()
            .filter(|m| !(two && only_what_version_2_does_better(m)))
            .filter_map(|m| {
                let base = base(m)?;
                let controllers = match m.version {
                    Version::One => m.controllers.clone(),
                    Version::Two => passed_on(&base),
                };
                Some(Hierarchy { version: m.version, base, controllers })
            })
            .collect();
        if list.is_empty() {
            return Err(Why::NotWritable { mount: first.mount.clone() });
        }
        list.sort_by_key(|hierarchy| hierarchy.version == Version::One);
        Ok(Hierarchies { list })
    }

    /// The trees.
    #[must_use]
    pub fn list(&self) -> &[Hierarchy] {
        &self.list
    }

    /// Whether a controller can be used.
    #[must_use]
    pub fn can(&self, controller: Controller) -> bool {
        self.list.iter().any(|hierarchy| hierarchy.controllers.contains(&controller))
    }

    /// The folders that a group of this name has or will have; for a ledger.
    #[must_use]
    pub fn folders(&self, name: &str) -> Vec<PathBuf> {
        self.list.iter().map(|hierarchy| hierarchy.base.join(name)).collect()
    }

    /// In words, for a disclosure: `version 2 at /sys/fs/cgroup (cpu, memory)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let one = |hierarchy: &Hierarchy| {
            let version = if hierarchy.version == Version::Two { 2 } else { 1 };
            let names: Vec<&str> = hierarchy.controllers.iter().map(|c| c.name()).collect();
            let names = if names.is_empty() { "no controllers".to_owned() } else { names.join(", ") };
            format!("version {version} at {} ({names})", hierarchy.base.display())
        };
        self.list.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// Each tree costs every process that enters it some time: those of version 1 that only count CPU time or freeze
/// are left out where the tree of version 2 does that.
fn only_what_version_2_does_better(mounted: &Mounted) -> bool {
    mounted.version == Version::One
        && mounted.controllers.iter().all(|c| matches!(c, Controller::Freezer | Controller::CpuAccounts))
}

/// The highest folder on the way from the mount to our own group in which groups and processes may be put.
fn base(mounted: &Mounted) -> Option<PathBuf> {
    let writable = |folder: &&Path| {
        access(*folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
            && access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    };
    let own = mounted.own.as_deref().unwrap_or(&mounted.mount);
    let mut way: Vec<&Path> = own.ancestors().take_while(|f| f.starts_with(&mounted.mount)).collect();
    way.reverse();
    way.iter().find(|folder| writable(folder)).map(|&folder| folder.to_owned())
}

/// The controllers that groups below `base` can have: all of them, unless `base` has processes and is not the root of
/// the tree; then only those that are passed on already.
fn passed_on(base: &Path) -> Vec<Controller> {
    let root = !base.join("cgroup.type").exists();
    let busy = files::read(&base.join("cgroup.procs")).is_ok_and(|text| !text.is_empty());
    let file = if root || !busy { "cgroup.controllers" } else { "cgroup.subtree_control" };
    let names = files::read(&base.join(file)).unwrap_or_default();
    names.split_ascii_whitespace().filter_map(Controller::of_version_2).collect()
}

impl Hierarchy {
    /// Of version 2: lets the groups between `base` and `group` pass their controllers on.
    pub(crate) fn pass_on(&self, group: &Path) -> Result<(), Error> {
        if self.version == Version::One {
            return Ok(());
        }
        let mut above: Vec<&Path> =
            group.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.base)).collect();
        above.reverse();
        for folder in above {
            let file = folder.join("cgroup.subtree_control");
            let on = files::read(&file)?;
            for controller in &self.controllers {
                if !on.split_ascii_whitespace().any(|name| name == controller.name()) {
                    files::write(&file, &format!("+{}", controller.name()))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "hierarchy_tests.rs"]
mod tests;
