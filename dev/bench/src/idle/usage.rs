//! Resources used by the processes of a unit, from /proc and its control group.

use std::fs;
use std::path::Path;

use anyhow::Context;
use barograph_platform::Accounts;

/// Resident memory in KiB.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) rss_kib: u64,
    pub(crate) pss_kib: u64,
    pub(crate) processes: u32,
}

/// The processes of a unit: those of its control group.
fn processes(accounts: &Accounts) -> anyhow::Result<Vec<u32>> {
    let lists =
        accounts.cgroups.iter().filter_map(|group| fs::read_to_string(group.join("cgroup.procs")).ok());
    let list =
        lists.max_by_key(String::len).context("find the control group of the unit: figures need one")?;
    Ok(list.lines().filter_map(|line| line.parse().ok()).collect())
}

pub(crate) fn memory(accounts: &Accounts) -> anyhow::Result<Memory> {
    let mut all = Memory::default();
    for pid in processes(accounts)? {
        let of = |file: &str, field: &str| kib(Path::new(&format!("/proc/{pid}/{file}")), field);
        // A process may have ended since.
        if let (Some(rss), Some(pss)) = (of("status", "VmRSS:"), of("smaps_rollup", "Pss:")) {
            all.rss_kib += rss;
            all.pss_kib += pss;
            all.processes += 1;
        }
    }
    Ok(all)
}

fn kib(file: &Path, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// CPU time so far, in microseconds, of the unit including ended children.
pub(crate) fn cpu_us(accounts: &Accounts) -> anyhow::Result<u64> {
    let usage = |text: String| {
        let line = text.lines().find(|line| line.starts_with("usage_usec "))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let second =
        accounts.cgroups.iter().find_map(|group| usage(fs::read_to_string(group.join("cpu.stat")).ok()?));
    let first = || {
        let nanos = |group: &std::path::PathBuf| fs::read_to_string(group.join("cpuacct.usage")).ok();
        let nanos = accounts.cgroups.iter().find_map(nanos)?;
        nanos.trim().parse::<u64>().ok().map(|nanos| nanos / 1000)
    };
    second.or_else(first).context("read the CPU time of a control group: figures need one")
}
