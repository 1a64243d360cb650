//! What a group may use, and how that is written down in each version.

use std::path::Path;

use crate::{Controller, Error, files};

/// What a group may use. `None` and an empty set are no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time, in cores.
    pub cpus: Option<f64>,
    /// The cores it may run on, by number.
    pub cpu_set: Vec<usize>,
    /// Memory with page cache, in bytes. Swap space is not given on top.
    pub memory_bytes: Option<u64>,
}

/// The time after which a group gets its CPU time anew; the kernel's own default.
const PERIOD_US: u64 = 100_000;

/// The kernel gives no less in one period.
const LEAST_QUOTA_US: u64 = 1_000;

/// Nobody has so many cores; larger ones would not fit into the kernel's number.
const MOST_CPUS: f64 = 100_000.0;

impl Limits {
    /// What each limit needs, where there is one.
    pub(crate) fn needs(&self) -> Vec<(&'static str, Controller)> {
        [
            (self.cpus.is_some(), "CPU time", Controller::Cpu),
            (!self.cpu_set.is_empty(), "the set of cores", Controller::CpuSet),
            (self.memory_bytes.is_some(), "memory", Controller::Memory),
        ]
        .into_iter()
        .filter(|(wanted, ..)| *wanted)
        .map(|(_, what, controller)| (what, controller))
        .collect()
    }

    /// Microseconds of CPU time in each period.
    fn quota_us(&self) -> Result<Option<u64>, Error> {
        let Some(cpus) = self.cpus else { return Ok(None) };
        if !(cpus > 0.0 && cpus <= MOST_CPUS) {
            return Err(Error::BadLimit { what: "CPU time", value: format!("{cpus} cores") });
        }
        // Between 0 and 10 to the 10th, checked above.
        let quota = (cpus * PERIOD_US as f64).round() as u64;
        Ok(Some(quota.max(LEAST_QUOTA_US)))
    }

    fn cpu_list(&self) -> String {
        self.cpu_set.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Writes the limits of one controller into a folder of version 1.
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
        _ => Ok(()),
    }
}

/// Nobody may enter a group without cores and memory nodes; without a limit it has those of the group above.
fn cpu_set_version_1(folder: &Path, limits: &Limits) -> Result<(), Error> {
    let above = folder.parent().unwrap_or(folder);
    files::write(&folder.join("cpuset.mems"), &files::read(&above.join("cpuset.mems"))?)?;
    let cores =
        if limits.cpu_set.is_empty() { files::read(&above.join("cpuset.cpus"))? } else { limits.cpu_list() };
    files::write(&folder.join("cpuset.cpus"), &cores)
}

/// Memory must not exceed memory and swap together at any moment, so the order depends on the direction. What is in use
/// and cannot be taken back makes the kernel refuse a limit below it; then the limit is as it was.
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
            // The error is the one to tell.
            let _ = files::write(&memory, &before);
            Err(error)
        }
    }
}

/// Writes the limits of one controller into a folder of version 2.
pub(crate) fn write_version_2(folder: &Path, controller: Controller, limits: &Limits) -> Result<(), Error> {
    match controller {
        Controller::Cpu => {
            let quota = limits.quota_us()?.map_or("max".to_owned(), |quota| quota.to_string());
            files::write(&folder.join("cpu.max"), &format!("{quota} {PERIOD_US}"))
        }
        // A line end alone is an empty set, and that is the one of the group above.
        Controller::CpuSet => files::write(&folder.join("cpuset.cpus"), &format!("{}\n", limits.cpu_list())),
        Controller::Memory => {
            let most = limits.memory_bytes.map_or("max".to_owned(), |bytes| bytes.to_string());
            // First, so that what a lower limit takes back does not go where no limit counts it.
            let swap = folder.join("memory.swap.max");
            if swap.exists() {
                files::write(&swap, if limits.memory_bytes.is_some() { "0" } else { "max" })?;
            }
            files::write(&folder.join("memory.max"), &most)
        }
        _ => Ok(()),
    }
}
