//! Hierarchies of control groups on this machine, and the place in each where groups can be created.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::mounts::{self, HierarchyMount};
use crate::{Error, UnavailableReason, files};

/// Version of a hierarchy's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for one or a few controllers.
    One,
    /// The only hierarchy for all controllers; it may have none.
    Two,
}

/// Ability of a hierarchy to limit or count, of those used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Limit of CPU time.
    Cpu,
    /// Count of CPU time; version 2 needs no controller for it.
    CpuAccounts,
    /// Choice of cores and memory nodes.
    CpuSet,
    /// Limit and count of memory.
    Memory,
    /// Count of bytes of block devices.
    Io,
    /// Count of threads.
    Pids,
    /// Freezing; version 2 needs no controller for it.
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

    /// Returns the name in files of version 2, if it has one.
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

/// A hierarchy, and the place where groups can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Version of its interface.
    pub version: Version,
    /// Folder below which groups are created.
    pub base: PathBuf,
    /// Controllers available to such groups.
    pub controllers: Vec<Controller>,
}

/// All hierarchies in which groups can be created; version 2 first, as its figures are more complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    list: Vec<Hierarchy>,
}

impl Hierarchies {
    /// Finds the mounted hierarchies that this user may write. Creates nothing.
    ///
    /// Groups are created at the top of the writable part, as container engines do: in version 2 a group with
    /// processes of its own passes no controllers on, and the group of this process has some. Limits on that
    /// group therefore do not apply to units.
    pub fn find() -> Result<Self, UnavailableReason> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|error| UnavailableReason::Unreadable {
                path: path.into(),
                reason: error.to_string(),
            })
        };
        Self::among(&mounts::parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?))
    }

    pub(crate) fn among(mounted: &[HierarchyMount]) -> Result<Self, UnavailableReason> {
        let first = mounted.first().ok_or(UnavailableReason::NotMounted)?;
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
            return Err(UnavailableReason::NotWritable { mount: first.mount.clone() });
        }
        list.sort_by_key(|hierarchy| hierarchy.version == Version::One);
        Ok(Hierarchies { list })
    }

    /// Returns the hierarchies.
    #[must_use]
    pub fn list(&self) -> &[Hierarchy] {
        &self.list
    }

    /// Whether a controller can be used.
    #[must_use]
    pub fn can(&self, controller: Controller) -> bool {
        self.list.iter().any(|hierarchy| hierarchy.controllers.contains(&controller))
    }

    /// Returns the folders of a group with this name, existing or not; for a ledger.
    #[must_use]
    pub fn folders(&self, name: &str) -> Vec<PathBuf> {
        self.list.iter().map(|hierarchy| hierarchy.base.join(name)).collect()
    }

    /// Describes the hierarchies for a disclosure: `version 2 at /sys/fs/cgroup (cpu, memory)`.
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

/// Whether a hierarchy of version 1 only counts CPU time or freezes. Each hierarchy costs time when a process
/// enters it, so these are left out if version 2 does the same.
fn only_what_version_2_does_better(mounted: &HierarchyMount) -> bool {
    mounted.version == Version::One
        && mounted.controllers.iter().all(|c| matches!(c, Controller::Freezer | Controller::CpuAccounts))
}

/// Highest folder from the mount point to the group of this process in which groups and processes can be put.
fn base(mounted: &HierarchyMount) -> Option<PathBuf> {
    let writable = |folder: &&Path| {
        access(*folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
            && access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    };
    let own = mounted.own.as_deref().unwrap_or(&mounted.mount);
    let mut way: Vec<&Path> = own.ancestors().take_while(|f| f.starts_with(&mounted.mount)).collect();
    way.reverse();
    way.iter().find(|folder| writable(folder)).map(|&folder| folder.to_owned())
}

/// Controllers that groups below `base` can have: all of them, unless `base` has processes and is not the
/// root; then only those that are passed on already.
fn passed_on(base: &Path) -> Vec<Controller> {
    let root = !base.join("cgroup.type").exists();
    let busy = files::read(&base.join("cgroup.procs")).is_ok_and(|text| !text.is_empty());
    let file = if root || !busy { "cgroup.controllers" } else { "cgroup.subtree_control" };
    let names = files::read(&base.join(file)).unwrap_or_default();
    names.split_ascii_whitespace().filter_map(Controller::of_version_2).collect()
}

impl Hierarchy {
    /// For version 2: lets the groups between `base` and `group` pass their controllers on.
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
