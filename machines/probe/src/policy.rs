//! Policies of the processors: settings of the kernel that trade speed for power.

use std::path::{Path, PathBuf};

use crate::power::{names, word};

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuPolicy {
    /// The governor, which chooses the frequency.
    Governor,
    /// The preference between speed and power that the processor itself follows.
    EnergyPreference,
}

impl CpuPolicy {
    /// Returns the names of its file and of the one with the possible values.
    const fn files(self) -> (&'static str, &'static str) {
        match self {
            CpuPolicy::Governor => ("scaling_governor", "scaling_available_governors"),
            CpuPolicy::EnergyPreference => {
                ("energy_performance_preference", "energy_performance_available_preferences")
            }
        }
    }

    /// Returns its name in the kernel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.files().0
    }

    /// Returns its files, one for each group of cores, below `sys`; empty on a machine without it.
    #[must_use]
    pub fn places(self, sys: &Path) -> Vec<PathBuf> {
        let all = groups(sys).into_iter().map(|group| group.join(self.name()));
        all.filter(|path| path.exists()).collect()
    }

    /// Returns the values that every group of cores takes; empty on a machine without it.
    #[must_use]
    pub fn values(self, sys: &Path) -> Vec<String> {
        let lists = groups(sys).into_iter().filter_map(|group| word(&group.join(self.files().1)));
        let words = |list: String| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        lists
            .map(words)
            .reduce(|mut all, other| {
                all.retain(|value| other.contains(value));
                all
            })
            .unwrap_or_default()
    }
}

/// Folders of groups of cores.
fn groups(sys: &Path) -> Vec<PathBuf> {
    let folder = sys.join("devices/system/cpu/cpufreq");
    let groups = names(&folder).into_iter().filter(|name| name.starts_with("policy"));
    groups.map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn values_are_those_of_all_cores() {
        let root = tempfile::tempdir().unwrap();
        assert!(CpuPolicy::Governor.values(root.path()).is_empty(), "nothing is there");
        for (group, governors) in
            [("policy0", "performance powersave\n"), ("policy4", "powersave ondemand\n")]
        {
            let folder = root.path().join("devices/system/cpu/cpufreq").join(group);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_governor"), "powersave\n").unwrap();
            fs::write(folder.join("scaling_available_governors"), governors).unwrap();
        }
        assert_eq!(CpuPolicy::Governor.values(root.path()), ["powersave"]);
        assert_eq!(CpuPolicy::Governor.places(root.path()).len(), 2);
        assert!(CpuPolicy::EnergyPreference.places(root.path()).is_empty());
    }
}
