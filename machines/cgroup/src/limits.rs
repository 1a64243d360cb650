//! Limits of a group, and their form in each version.

use std::path::Path;

use crate::{Controller, Error, disks, files};

/// Limits of a group. `None` and an empty set mean unlimited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time, in cores.
    pub cpus: Option<f64>,
    /// Numbers of the cores it may run on.
    pub cpu_set: Vec<usize>,
    /// Memory with page cache, in bytes. No swap space is granted in addition.
    pub memory_bytes: Option<u64>,
    /// Bytes a second that it may read from each disk, and write to it.
    pub disk_bytes_s: Option<u64>,
}

/// Period of the CPU quota in microseconds, the kernel's default.
const PERIOD_US: u64 = 100_000;

/// Smallest quota that the kernel accepts, in microseconds.
const LEAST_QUOTA_US: u64 = 1_000;

/// Largest number of cores, beyond any machine; larger ones would overflow the kernel's number.
const MOST_CPUS: f64 = 100_000.0;

impl Limits {
    /// Returns the controller for each limit that is set.
    pub(crate) fn needs(&self) -> Vec<(&'static str, Controller)> {
        [
            (self.cpus.is_some(), "CPU time", Controller::Cpu),
            (!self.cpu_set.is_empty(), "the set of cores", Controller::CpuSet),
            (self.memory_bytes.is_some(), "memory", Controller::Memory),
            (self.disk_bytes_s.is_some(), "the rate of disks", Controller::Io),
        ]
        .into_iter()
        .filter(|(wanted, ..)| *wanted)
        .map(|(_, what, controller)| (what, controller))
        .collect()
    }

    /// Microseconds of CPU time per period.
    fn quota_us(&self) -> Result<Option<u64>, Error> {
        let Some(cpus) = self.cpus else { return Ok(None) };
        if !(cpus > 0.0 && cpus <= MOST_CPUS) {
            return Err(Error::BadLimit { what: "CPU time", value: format!("{cpus} cores") });
        }
        // Between 0 and 10^10, as checked above.
        let quota = (cpus * PERIOD_US as f64).round() as u64;
        Ok(Some(quota.max(LEAST_QUOTA_US)))
    }

    fn cpu_list(&self) -> String {
        self.cpu_set.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Writes the limits of one controller to a folder of version 1.
pub(crate) fn write_version_1(folder: &Path, controller: Controller, limits: &Limits) -> Result<(), Error> {
    match controller {
        Controller::Cpu => {
            let quota = limits.quota_us()?.map_or("-1".to_owned(), |quota| quota.to_string());
            if limits.cpus.is_some() {
                files::write(&folder.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
            }
            files::write(&folder.join("cpu.cfs_quota_us"), &quota)
        }
        Controller::CpuSet => cpu_set_version_1(folder, limits),
        Controller::Memory => memory_version_1(folder, limits),
        Controller::Io => disks::write_version_1(folder, limits.disk_bytes_s),
        _ => Ok(()),
    }
}

/// A group without cores and memory nodes cannot be entered; without a limit it gets those of its parent.
fn cpu_set_version_1(folder: &Path, limits: &Limits) -> Result<(), Error> {
    let above = folder.parent().unwrap_or(folder);
    files::write(&folder.join("cpuset.mems"), &files::read(&above.join("cpuset.mems"))?)?;
    let cores =
        if limits.cpu_set.is_empty() { files::read(&above.join("cpuset.cpus"))? } else { limits.cpu_list() };
    files::write(&folder.join("cpuset.cpus"), &cores)
}

/// Memory must never exceed memory and swap together, so the order of the writes depends on the direction.
/// The kernel refuses a limit below the memory in use that it cannot reclaim; the limit then stays as it was.
fn memory_version_1(folder: &Path, limits: &Limits) -> Result<(), Error> {
    let most = limits.memory_bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
    let (memory, both) = (folder.join("memory.limit_in_bytes"), folder.join("memory.memsw.limit_in_bytes"));
    if !both.exists() {
        return files::write(&memory, &most);
    }
    let before = files::read(&memory)?;
    let first = files::write(&memory, &most);
    match (first, files::write(&both, &most)) {
        (Ok(()), Ok(())) => Ok(()),
        // It is raised: now there is room for it.
        (Err(_), Ok(())) => files::write(&memory, &most),
        (Err(error), Err(_)) => Err(error),
        (Ok(()), Err(error)) => {
            // The first error is reported.
            let _ = files::write(&memory, &before);
            Err(error)
        }
    }
}

/// Writes the limits of one controller to a folder of version 2.
pub(crate) fn write_version_2(folder: &Path, controller: Controller, limits: &Limits) -> Result<(), Error> {
    match controller {
        Controller::Cpu => {
            let quota = limits.quota_us()?.map_or("max".to_owned(), |quota| quota.to_string());
            files::write(&folder.join("cpu.max"), &format!("{quota} {PERIOD_US}"))
        }
        // A line end alone is an empty set, which means that of the parent.
        Controller::CpuSet => files::write(&folder.join("cpuset.cpus"), &format!("{}\n", limits.cpu_list())),
        Controller::Memory => {
            let most = limits.memory_bytes.map_or("max".to_owned(), |bytes| bytes.to_string());
            // Swap first: memory reclaimed by a lower limit must not move to uncounted swap space.
            let swap = folder.join("memory.swap.max");
            if swap.exists() {
                files::write(&swap, if limits.memory_bytes.is_some() { "0" } else { "max" })?;
            }
            files::write(&folder.join("memory.max"), &most)
        }
        Controller::Io => disks::write_version_2(folder, limits.disk_bytes_s),
        _ => Ok(()),
    }
}
