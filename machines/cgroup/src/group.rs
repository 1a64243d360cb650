//! One group: the same name in every hierarchy.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::folder::{self, has_freezer, kill_folder, processes_in, remove_folder, try_remove};
use crate::hierarchy::{Hierarchies, Hierarchy, Version};
use crate::limits::{write_version_1, write_version_2};
use crate::{Error, Limits, Meter, Usage};

/// Script that writes its own process id to every file before `--`, so that it and its children belong to the
/// groups, and then executes the command after `--`. If a group cannot be entered it exits with 125, which no
/// program of Barograph uses.
const ENTER: &str = r#"while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@""#;

/// Longest wait for a group to freeze. Each process needs the CPU once to notice, and a busy machine may
/// withhold it for seconds; a process that waits for a stuck disk takes longer. Freezing blocks the thread,
/// so a thread with other work does not freeze.
const FREEZE_WAIT: Duration = Duration::from_secs(10);

/// A group in all usable hierarchies. Dropping it does nothing: see [`Group::remove`].
#[derive(Clone, Debug)]
pub struct Group {
    name: String,
    parts: Vec<HierarchyGroup>,
}

#[derive(Clone, Debug)]
struct HierarchyGroup {
    hierarchy: Hierarchy,
    folder: PathBuf,
}

impl Group {
    /// Creates the group `name`, as `barograph.run` or, below that, `barograph.run/unit`. Its parent must
    /// exist, and the group must not. On failure nothing of it is left.
    pub fn create(hierarchies: &Hierarchies, name: &str, limits: &Limits) -> Result<Self, Error> {
        check(hierarchies, limits)?;
        let parts: Vec<HierarchyGroup> = hierarchies
            .list()
            .iter()
            .map(|hierarchy| HierarchyGroup {
                hierarchy: hierarchy.clone(),
                folder: hierarchy.base.join(name),
            })
            .collect();
        let group = Group { name: name.to_owned(), parts };
        for (number, part) in group.parts.iter().enumerate() {
            if let Err(error) = part.make(limits) {
                for made in &group.parts[..number] {
                    // The first error is reported.
                    let _ = fs::remove_dir(&made.folder);
                }
                return Err(error);
            }
        }
        Ok(group)
    }

    /// Returns its name, including the groups above.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its folders, that of version 2 first.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.folder.clone()).collect()
    }

    /// Returns the files to which a process writes its id to join the group.
    #[must_use]
    pub fn entrances(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.folder.join("cgroup.procs")).collect()
    }

    /// Returns the words to put before a command, so that it starts inside the group. The process stays the
    /// same: its id, standard streams and environment.
    #[must_use]
    pub fn enter_command(&self) -> Vec<String> {
        let files = self.entrances().into_iter().map(|file| file.display().to_string());
        let shell = ["/bin/sh", "-c", ENTER, "sh"].map(str::to_owned);
        shell.into_iter().chain(files).chain(["--".to_owned()]).collect()
    }

    /// Replaces its limits.
    pub fn set_limits(&self, limits: &Limits) -> Result<(), Error> {
        for (what, controller) in limits.needs() {
            if !self.parts.iter().any(|part| part.hierarchy.controllers.contains(&controller)) {
                return Err(Error::NoController { what, controller: controller.name() });
            }
        }
        self.parts.iter().try_for_each(|part| part.limit(limits))
    }

    /// Freezes all its processes. Blocks this thread until they are stopped, up to 10 s.
    pub fn freeze(&self) -> Result<(), Error> {
        match self.freezer() {
            Some(folder) => folder::freeze(folder, FREEZE_WAIT),
            None => Err(Error::NoController { what: "the right to run", controller: "freezer" }),
        }
    }

    /// Thaws its processes.
    pub fn thaw(&self) -> Result<(), Error> {
        self.freezer().map_or(Ok(()), folder::thaw)
    }

    /// Whether it can be frozen.
    #[must_use]
    pub fn can_freeze(&self) -> bool {
        self.freezer().is_some()
    }

    /// Kills all its processes, frozen ones too, and those of the groups below. Does not wait for their end.
    pub fn kill_all(&self) -> Result<(), Error> {
        self.strongest().map_or(Ok(()), kill_folder)
    }

    /// Returns its living processes, including those of the groups below.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.strongest().map(processes_in).unwrap_or_default()
    }

    /// Returns its resource use. For many readings a [`Meter`] of its [`paths`](Group::paths) is cheaper.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Meter::open(&self.paths()).read()
    }

    /// Removes it with the groups below, as far as possible now. Returns whether all of it is gone.
    pub fn try_remove(&self) -> bool {
        self.parts.iter().filter(|part| try_remove(&part.folder).is_err()).count() == 0
    }

    /// Removes it with the groups below, after waiting up to `within` for them to be empty. Succeeds if it is
    /// gone.
    pub fn remove(&self, within: Duration) -> Result<(), Error> {
        self.parts.iter().try_for_each(|part| remove_folder(&part.folder, within))
    }

    /// Folder through which everything can be killed: version 2 kills at once, and with a freezer no process
    /// is created while they are killed one by one.
    fn strongest(&self) -> Option<&Path> {
        let at_once = self.folders().find(|folder| folder.join("cgroup.kill").exists());
        at_once.or_else(|| self.freezer()).or_else(|| self.folders().next())
    }

    fn freezer(&self) -> Option<&Path> {
        self.folders().find(|folder| has_freezer(folder))
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.folder.as_path())
    }
}

fn check(hierarchies: &Hierarchies, limits: &Limits) -> Result<(), Error> {
    match limits.needs().into_iter().find(|(_, controller)| !hierarchies.can(*controller)) {
        Some((what, controller)) => Err(Error::NoController { what, controller: controller.name() }),
        None => Ok(()),
    }
}

impl HierarchyGroup {
    /// Creates the folder and writes its limits; removes it again if they cannot be written.
    fn make(&self, limits: &Limits) -> Result<(), Error> {
        self.hierarchy.pass_on(&self.folder)?;
        fs::create_dir(&self.folder).map_err(|source| Error::Make { path: self.folder.clone(), source })?;
        let limited = self.limit_new(limits);
        if limited.is_err() {
            let _ = fs::remove_dir(&self.folder);
        }
        limited
    }

    /// Writes the limits of a new group. It has none yet, so only the requested ones are written, and the set
    /// of cores that version 1 always requires.
    fn limit_new(&self, limits: &Limits) -> Result<(), Error> {
        if *limits != Limits::default() {
            return self.limit(limits);
        }
        let set = crate::Controller::CpuSet;
        if self.hierarchy.version == Version::One && self.hierarchy.controllers.contains(&set) {
            return write_version_1(&self.folder, set, limits);
        }
        Ok(())
    }

    fn limit(&self, limits: &Limits) -> Result<(), Error> {
        self.hierarchy.controllers.iter().try_for_each(|&controller| match self.hierarchy.version {
            Version::One => write_version_1(&self.folder, controller, limits),
            Version::Two => write_version_2(&self.folder, controller, limits),
        })
    }
}
