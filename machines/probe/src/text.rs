//! Parsing of `/proc` files: pure functions from text, which return `None` for unexpected text.

use barograph_model::{Nanos, Share};

/// CPU time of all cores since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user mode, including niced programs.
    pub user: Nanos,
    /// In the kernel for programs.
    pub system: Nanos,
    /// Idle.
    pub idle: Nanos,
    /// Idle while a disk operation was outstanding; the kernel calls this figure unreliable.
    pub iowait: Nanos,
    /// In interrupts, hardware and software.
    pub irq: Nanos,
    /// Runnable, but given to others by the hypervisor.
    pub steal: Nanos,
}

/// Current memory of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Total, bytes.
    pub total_bytes: u64,
    /// Available to programs without swapping, bytes.
    pub available_bytes: u64,
    /// Page cache, bytes.
    pub cached_bytes: u64,
    /// Swap in use, bytes.
    pub swap_used_bytes: u64,
}

/// Traffic of a set of network interfaces since they came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetTotals {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets dropped, in both directions.
    pub dropped_packets: u64,
}

/// Work of all whole disks since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskTotals {
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with at least one open request, summed over the disks.
    pub busy: Nanos,
}

/// Pressure on one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Share of the last ten seconds in which at least one task waited, as averaged by the kernel.
    pub avg10: Share,
    /// Total time in which at least one task waited.
    pub stalled: Nanos,
}

/// Converts `ticks` of a clock with `hz` ticks per second.
pub(crate) fn ticks(ticks: u64, hz: u64) -> Nanos {
    Nanos((u128::from(ticks) * 1_000_000_000 / u128::from(hz.max(1))).try_into().unwrap_or(u64::MAX))
}

/// Parses the first line of `/proc/stat`. User time includes guest time, so columns 9 and 10 are not added.
pub(crate) fn cpu_times(text: &str, hz: u64) -> Option<CpuTimes> {
    let line = text.lines().find_map(|l| l.strip_prefix("cpu "))?;
    let mut fields = [Nanos::ZERO; 8];
    let mut words = line.split_ascii_whitespace();
    for field in &mut fields {
        *field = ticks(words.next()?.parse().ok()?, hz);
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = fields;
    Some(CpuTimes { user: user + nice, system, idle, iowait, irq: irq + softirq, steal })
}

/// Parses the number of online cores from `/proc/stat`.
pub(crate) fn cores(text: &str) -> u32 {
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    u32::try_from(text.lines().filter(numbered).count()).unwrap_or(u32::MAX)
}

/// Parses `/proc/meminfo`.
pub(crate) fn memory(text: &str) -> Option<Memory> {
    let bytes = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(Memory {
        total_bytes: bytes("MemTotal")?,
        available_bytes: bytes("MemAvailable")?,
        cached_bytes: bytes("Cached").unwrap_or(0),
        swap_used_bytes: bytes("SwapTotal").unwrap_or(0).saturating_sub(bytes("SwapFree").unwrap_or(0)),
    })
}

/// Parses `/proc/net/dev` as (loopback, all others). A packet that crosses a bridge counts on each of its
/// interfaces.
pub(crate) fn network(text: &str) -> Option<(NetTotals, NetTotals)> {
    let (mut loopback, mut others) = (NetTotals::default(), NetTotals::default());
    for line in text.lines().skip(2) {
        let (name, numbers) = line.split_once(':')?;
        let mut fields = [0u64; 12];
        let mut words = numbers.split_ascii_whitespace();
        for field in &mut fields {
            *field = words.next()?.parse().ok()?;
        }
        let sum = if name.trim() == "lo" { &mut loopback } else { &mut others };
        sum.received_bytes = sum.received_bytes.wrapping_add(fields[0]);
        sum.received_packets = sum.received_packets.wrapping_add(fields[1]);
        sum.sent_bytes = sum.sent_bytes.wrapping_add(fields[8]);
        sum.sent_packets = sum.sent_packets.wrapping_add(fields[9]);
        sum.dropped_packets = sum.dropped_packets.wrapping_add(fields[3]).wrapping_add(fields[11]);
    }
    Some((loopback, others))
}

/// Parses the disks named in `whole` from `/proc/diskstats`; their partitions would count twice.
pub(crate) fn disks(text: &str, whole: &[String]) -> Option<DiskTotals> {
    /// Sector size of the kernel's counters in bytes, independent of the disk's own sectors.
    const SECTOR: u64 = 512;
    let mut sum = DiskTotals::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(name) = words.next() else { continue };
        if !whole.iter().any(|w| w == name) {
            continue;
        }
        let mut fields = [0u64; 10];
        for field in &mut fields {
            *field = words.next()?.parse().ok()?;
        }
        sum.reads = sum.reads.wrapping_add(fields[0]);
        sum.read_bytes = sum.read_bytes.wrapping_add(fields[2].wrapping_mul(SECTOR));
        sum.writes = sum.writes.wrapping_add(fields[4]);
        sum.written_bytes = sum.written_bytes.wrapping_add(fields[6].wrapping_mul(SECTOR));
        sum.busy = sum.busy + Nanos::from_millis(fields[9]);
    }
    Some(sum)
}

/// Parses the retransmitted segments from `/proc/net/snmp`, whose column is found by its name.
pub(crate) fn tcp_retransmits(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|l| l.strip_prefix("Tcp:"));
    let column = lines.next()?.split_ascii_whitespace().position(|name| name == "RetransSegs")?;
    lines.next()?.split_ascii_whitespace().nth(column)?.parse().ok()
}

/// Parses the `some` line of a file in `/proc/pressure`.
pub(crate) fn pressure(text: &str) -> Option<Pressure> {
    let line = text.lines().find_map(|l| l.strip_prefix("some "))?;
    let value =
        |key: &str| line.split_ascii_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
    let avg10: f64 = value("avg10")?.parse().ok()?;
    let total_us: u64 = value("total")?.parse().ok()?;
    Some(Pressure { avg10: Share::new(avg10 / 100.0).ok()?, stalled: Nanos(total_us.saturating_mul(1_000)) })
}

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// State: `R`, `S`, `Z`, ...
    pub(crate) state: char,
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    pub(crate) threads: u64,
}

/// Parses `/proc/PID/stat`. The name in brackets may contain blanks and brackets, so fields are counted from
/// the last `)`.
pub(crate) fn process_stat(text: &str, hz: u64) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |n: usize| fields.get(n)?.parse::<u64>().ok();
    Some(ProcessStat {
        state: fields.first()?.chars().next()?,
        user: ticks(number(11)?, hz),
        system: ticks(number(12)?, hz),
        threads: number(17)?,
    })
}

/// Parses the resident pages from `/proc/PID/statm`.
pub(crate) fn resident_pages(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Parses the (voluntary, involuntary) context switches of a thread from its `status`.
pub(crate) fn context_switches(text: &str) -> Option<(u64, u64)> {
    let value = |key: &str| text.lines().find_map(|l| l.strip_prefix(key))?.trim().parse().ok();
    Some((value("voluntary_ctxt_switches:")?, value("nonvoluntary_ctxt_switches:")?))
}

/// Parses the run delay of a thread in nanoseconds, the second figure of its `schedstat`.
pub(crate) fn run_delay(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
