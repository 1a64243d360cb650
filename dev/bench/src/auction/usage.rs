//! Resources used by processes, from /proc.

use std::fs;

/// CPU time of these processes so far in seconds, including their reaped children. The kernel counts it in
/// steps of 10 ms.
pub(crate) fn cpu_s(pids: &[u32]) -> f64 {
    let per_s = rustix::param::clock_ticks_per_second() as f64;
    let ticks: u64 = pids.iter().filter_map(|pid| ticks(*pid)).sum();
    ticks as f64 / per_s
}

/// Resident memory of a process, in MiB.
pub(crate) fn rss_mib(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// User and system time, own and children's: four fields from the 14th. The second field is the program's
/// name in parentheses and may hold anything.
fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields = after_name.split_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

/// CPU time of named processes over a span.
pub(crate) struct Meter(Vec<(String, f64)>);

impl Meter {
    /// Begins a span.
    pub(crate) fn begin(processes: &[(String, Vec<u32>)]) -> Meter {
        Meter(read(processes))
    }

    /// Mean cores used by each since the begin, `seconds` ago.
    pub(crate) fn cores(&self, processes: &[(String, Vec<u32>)], seconds: f64) -> Vec<(String, f64)> {
        let now = read(processes);
        let before = |name: &str| self.0.iter().find(|(n, _)| n == name).map_or(0.0, |(_, cpu)| *cpu);
        now.into_iter().map(|(name, cpu)| (name.clone(), (cpu - before(&name)).max(0.0) / seconds)).collect()
    }
}

fn read(processes: &[(String, Vec<u32>)]) -> Vec<(String, f64)> {
    processes.iter().map(|(name, pids)| (name.clone(), cpu_s(pids))).collect()
}

/// Cores in words: `nodes 0.41, postgres 0.20`.
pub(crate) fn words(cores: &[(String, f64)]) -> String {
    cores.iter().map(|(name, cores)| format!("{name} {cores:.2}")).collect::<Vec<_>>().join(", ")
}
