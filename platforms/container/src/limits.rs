//! Limits in the form of an engine's API.

use std::fs;
use std::path::Path;

use barograph_platform::Limits;
use bollard::models::{ContainerUpdateBody, HostConfig, SystemInfo, ThrottleDevice};

/// Resources of the engine's machine: as limits they have no effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    cores: i64,
    memory: i64,
}

impl Machine {
    pub(crate) fn of(info: &SystemInfo) -> Self {
        Machine { cores: info.ncpu.unwrap_or(1).max(1), memory: info.mem_total.unwrap_or(i64::MAX) }
    }

    /// Engines refuse more CPU time than the machine has, which would not be a limit.
    fn nano_cpus(self, cpus: f64) -> i64 {
        const NANO: f64 = 1e9;
        // Engines refuse less than this, too.
        const LEAST: f64 = 0.01;
        (cpus.clamp(LEAST, self.cores as f64) * NANO).round() as i64
    }

    fn bytes(self, bytes: u64) -> i64 {
        i64::try_from(bytes).unwrap_or(i64::MAX).min(self.memory)
    }
}

fn core_list(cores: &[usize]) -> Option<String> {
    let list = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    Some(list).filter(|list| !list.is_empty())
}

/// Limits of a new container. No swap space is granted in addition to memory.
pub(crate) fn of_new(limits: &Limits, machine: Machine) -> HostConfig {
    let memory = limits.memory_bytes.map(|bytes| machine.bytes(bytes));
    HostConfig {
        nano_cpus: limits.cpus.map(|cpus| machine.nano_cpus(cpus)),
        cpuset_cpus: core_list(&limits.cpu_set),
        memory,
        memory_swap: memory,
        ..HostConfig::default()
    }
}

/// Rates of the disks of this machine, each way; `None` without a limit.
pub(crate) fn of_disks(limits: &Limits) -> Option<Vec<ThrottleDevice>> {
    let rate = i64::try_from(limits.disk_bytes_s?).unwrap_or(i64::MAX);
    let disks = disks(Path::new("/sys/block"), Path::new("/dev"));
    Some(disks.into_iter().map(|path| ThrottleDevice { path: Some(path), rate: Some(rate) }).collect())
}

/// Device files of all block devices that are not parts of others. Kernels write `!` for a slash in a name.
fn disks(blocks: &Path, devices: &Path) -> Vec<String> {
    let entries = fs::read_dir(blocks).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| Some(entry.file_name().into_string().ok()?.replace('!', "/")));
    let mut files: Vec<_> = names.map(|name| devices.join(name)).filter(|file| file.exists()).collect();
    files.sort_unstable();
    files.into_iter().filter_map(|file| file.into_os_string().into_string().ok()).collect()
}

/// Limits that replace those of a container; engines do not change rates of disks. For engines a missing limit
/// means "unchanged", so unlimited is written as the whole machine.
pub(crate) fn of_running(limits: &Limits, machine: Machine) -> ContainerUpdateBody {
    let all: Vec<usize> = (0..usize::try_from(machine.cores).unwrap_or(1)).collect();
    let cores = if limits.cpu_set.is_empty() { &all } else { &limits.cpu_set };
    let memory = limits.memory_bytes.map_or(machine.memory, |bytes| machine.bytes(bytes));
    ContainerUpdateBody {
        nano_cpus: Some(machine.nano_cpus(limits.cpus.unwrap_or(f64::MAX))),
        cpuset_cpus: core_list(cores),
        memory: Some(memory),
        memory_swap: Some(memory),
        ..ContainerUpdateBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { cores: 4, memory: 8 << 30 };

    #[test]
    fn limits_are_written_in_the_units_of_the_engine() {
        let limits = Limits {
            cpus: Some(0.5),
            cpu_set: vec![1, 3],
            memory_bytes: Some(64 << 20),
            ..Limits::default()
        };
        let new = of_new(&limits, MACHINE);
        assert_eq!((new.nano_cpus, new.cpuset_cpus.as_deref()), (Some(500_000_000), Some("1,3")));
        assert_eq!((new.memory, new.memory_swap), (Some(64 << 20), Some(64 << 20)));
        assert!(of_disks(&Limits::default()).is_none());
        let none = of_new(&Limits::default(), MACHINE);
        assert_eq!((none.nano_cpus, none.cpuset_cpus, none.memory), (None, None, None));
    }

    #[test]
    fn disks_with_a_device_file_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let (blocks, devices) = (dir.path().join("block"), dir.path().join("dev"));
        for name in ["vda", "cciss!c0d0", "hidden"] {
            fs::create_dir_all(blocks.join(name)).unwrap();
        }
        fs::create_dir_all(devices.join("cciss")).unwrap();
        for name in ["vda", "cciss/c0d0"] {
            fs::write(devices.join(name), "").unwrap();
        }
        let found = disks(&blocks, &devices);
        let path = |name: &str| devices.join(name).display().to_string();
        assert_eq!(found, [path("cciss/c0d0"), path("vda")]);
    }

    #[test]
    fn no_limit_is_all_that_the_machine_has() {
        let body = of_running(&Limits::default(), MACHINE);
        assert_eq!((body.nano_cpus, body.cpuset_cpus.as_deref()), (Some(4_000_000_000), Some("0,1,2,3")));
        assert_eq!(body.memory, Some(8 << 30));
        let beyond = of_running(&Limits { cpus: Some(64.0), ..Limits::default() }, MACHINE);
        assert_eq!(beyond.nano_cpus, Some(4_000_000_000));
    }
}
