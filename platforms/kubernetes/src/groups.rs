//! Processes of a container on this machine.

use std::fs;

use barograph_platform::ProcessId;

/// Returns the first process of a container, by its runtime's name for it; `None` if it is not on this machine
/// or has ended.
pub(crate) fn first_process(container: &str) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of_container = pids.filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| groups.contains(container))
    });
    let with_start = of_container.filter_map(|pid| Some((ProcessId::of(pid)?.start_ticks, pid)));
    with_start.min().map(|(_, pid)| pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_another_machine_has_no_process() {
        assert_eq!(first_process("0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"), None);
    }
}
