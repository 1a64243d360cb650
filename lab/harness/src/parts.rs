//! Resource use of each part of a deployment: its control groups or else its process, the run delay of its
//! threads, and its network if it has its own.

use std::path::PathBuf;

use barograph_cgroup::{Cpu, Io, Meter, Pressure, Pressures, Throttling, Usage, processes_in};
use barograph_model::Nanos;
use barograph_platform::Accounts;
use barograph_probe::{NetProbe, NetSample, ProcessProbe, ProcessSample, RunDelayProbe};
use barograph_record::ProbeRow;

/// Probe of one part.
pub(crate) struct PartProbe {
    name: String,
    /// Whether it is a node of the application, whose cores count as the application's.
    pub(crate) is_node: bool,
    /// Index of the load that deployed it.
    pub(crate) load: Option<usize>,
    meter: Meter,
    process: Option<ProcessProbe>,
    /// Files that list its processes, and its first process.
    members: (Vec<PathBuf>, Option<u32>),
    delay: RunDelayProbe,
    /// Whether it is the only part on its network.
    own_network: bool,
    net: Option<NetProbe>,
    last: PartSample,
    /// Use before it was started again.
    before: EarlierUse,
}

/// Use by all earlier lives of a part.
#[derive(Clone, Copy, Debug, Default)]
struct EarlierUse {
    group: Usage,
    user: Nanos,
    system: Nanos,
}

/// Sample of a part; values that could not be read are absent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartSample {
    at: Nanos,
    usage: Usage,
    process: Option<ProcessSample>,
    run_delay: Option<Nanos>,
    net: Option<NetSample>,
}

impl PartProbe {
    /// Probes a part. Its network counts only if `own_network` is true.
    pub(crate) fn new(name: &str, is_node: bool, accounts: &Accounts, own_network: bool, now: Nanos) -> Self {
        let mut probe = PartProbe::nothing(name, is_node, own_network);
        probe.open(accounts);
        probe.last = probe.read(now);
        probe
    }

    /// Probes nothing but the network shared by several parts, through the process `pid` on it.
    pub(crate) fn network(name: &str, pid: u32, now: Nanos) -> Self {
        let mut probe = PartProbe { net: NetProbe::apart(pid), ..PartProbe::nothing(name, false, false) };
        probe.last = probe.read(now);
        probe
    }

    fn nothing(name: &str, is_node: bool, own_network: bool) -> Self {
        PartProbe {
            name: name.to_owned(),
            is_node,
            load: None,
            meter: Meter::open(&[]),
            process: None,
            members: (Vec::new(), None),
            delay: RunDelayProbe::default(),
            own_network,
            net: None,
            last: PartSample::default(),
            before: EarlierUse::default(),
        }
    }

    fn open(&mut self, accounts: &Accounts) {
        self.meter = Meter::open(&accounts.cgroups);
        self.process = accounts.pid.and_then(|pid| ProcessProbe::new(pid).ok());
        self.members = (accounts.cgroups.clone(), accounts.pid);
        // The process of a virtual machine is on the network of all machines.
        let alone = self.own_network && !accounts.machine;
        self.net = accounts.pid.filter(|_| alone).and_then(NetProbe::apart);
    }

    /// Its processes: those of its control group, which is the same in every hierarchy, or else the first
    /// one.
    fn processes(&self) -> Vec<u32> {
        let (groups, first) = &self.members;
        let listed = groups.iter().map(|group| processes_in(group)).find(|list| !list.is_empty());
        listed.unwrap_or_else(|| first.iter().copied().collect())
    }

    /// Follows a part that was started again under other accounts. Its use before stays in the sum.
    pub(crate) fn started_again(&mut self, accounts: &Accounts) {
        self.before.group = self.last.usage;
        if let Some(process) = self.last.process {
            (self.before.user, self.before.system) = (process.cpu_user, process.cpu_system);
        }
        self.last.net = None;
        self.open(accounts);
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn read(&mut self, now: Nanos) -> PartSample {
        let usage = summed(self.meter.read(), &self.before.group, &self.last.usage);
        let sample = self.process.as_mut().and_then(|probe| probe.sample(now).ok());
        let process = match sample {
            Some(sample) => Some(ProcessSample {
                cpu_user: sample.cpu_user + self.before.user,
                cpu_system: sample.cpu_system + self.before.system,
                ..sample
            }),
            None => self.last.process.map(|last| ProcessSample { at: now, resident_bytes: 0, ..last }),
        };
        let processes = self.processes();
        let run_delay = self.delay.sample(&processes).or(self.last.run_delay);
        let net = self.net.as_mut().and_then(|probe| probe.sample(now).ok());
        PartSample { at: now, usage, process, run_delay, net }
    }

    /// Returns the latest sample, for the start of a window.
    pub(crate) fn mark(&self) -> PartSample {
        self.last
    }

    /// Takes a sample and returns the row since the one before.
    pub(crate) fn sample(&mut self, now: Nanos) -> ProbeRow {
        let new = self.read(now);
        let row =
            ProbeRow { subject: self.name.clone(), at_s: now.as_secs_f64(), ..between(&self.last, &new) };
        self.last = new;
        row
    }

    /// Returns the use since `from`.
    pub(crate) fn since(&self, from: &PartSample) -> ProbeRow {
        between(from, &self.last)
    }
}

/// Sums the use in this life and those before. A killed part keeps its last known use; memory and threads are
/// current values.
fn summed(now: Usage, before: &Usage, last: &Usage) -> Usage {
    let cpu = now.cpu.map(|now| {
        let before = before.cpu.unwrap_or_default();
        Cpu {
            total: now.total + before.total,
            user: now.user.map(|user| user + before.user.unwrap_or_default()),
            system: now.system.map(|system| system + before.system.unwrap_or_default()),
        }
    });
    let io = now.io.map(|now| {
        let before = before.io.unwrap_or_default();
        Io {
            read_bytes: now.read_bytes + before.read_bytes,
            written_bytes: now.written_bytes + before.written_bytes,
        }
    });
    let throttling = now.throttling.map(|now| {
        let before = before.throttling.unwrap_or_default();
        Throttling {
            periods: now.periods + before.periods,
            throttled: now.throttled + before.throttled,
            time: now.time + before.time,
        }
    });
    let waited = |now: Option<Pressure>, before: Option<Pressure>, last: Option<Pressure>| {
        let before = before.unwrap_or_default();
        let sum = now.map(|now| Pressure {
            some: now.some + before.some,
            full: now.full.map(|full| full + before.full.unwrap_or_default()),
        });
        sum.or(last)
    };
    let (of, earlier, latest) = (&now.pressure, &before.pressure, &last.pressure);
    let pressure = Pressures {
        cpu: waited(of.cpu, earlier.cpu, latest.cpu),
        memory: waited(of.memory, earlier.memory, latest.memory),
        io: waited(of.io, earlier.io, latest.io),
    };
    Usage {
        cpu: cpu.or(last.cpu),
        io: io.or(last.io),
        throttling: throttling.or(last.throttling),
        pressure,
        ..now
    }
}

/// Row of a control group on another machine over `span`.
pub(crate) fn of_group(then: &Usage, now: &Usage, span: Nanos) -> ProbeRow {
    let at = |at, usage: &Usage| PartSample { at, usage: *usage, ..PartSample::default() };
    between(&at(Nanos::ZERO, then), &at(span, now))
}

fn between(then: &PartSample, now: &PartSample) -> ProbeRow {
    let mut row = ProbeRow::default();
    let seconds = (now.at - then.at).as_secs_f64().max(1e-9);
    if let (Some(new), Some(old)) = (&now.process, &then.process) {
        let rates = new.since(old);
        row.cpu_user_cores = Some(rates.cpu_user_cores);
        row.cpu_system_cores = Some(rates.cpu_system_cores);
        row.rss_bytes = Some(rates.resident_bytes);
        row.threads = Some(rates.threads);
        row.fds = rates.open_files;
        row.ctx_switches_s = Some(rates.voluntary_switches_per_s + rates.involuntary_switches_per_s);
    }
    // A group covers all processes of the part, including those that have ended.
    if let (Some(new), Some(old)) = (&now.usage.cpu, &then.usage.cpu) {
        let cores = |new: std::time::Duration, old| new.saturating_sub(old).as_secs_f64() / seconds;
        let total = cores(new.total, old.total);
        let system = new.system.zip(old.system).map(|(new, old)| cores(new, old).min(total));
        row.cpu_system_cores = system;
        row.cpu_user_cores = Some(total - system.unwrap_or(0.0));
    }
    if let Some(memory) = &now.usage.memory
        && let Some(current) = memory.current
    {
        row.rss_bytes = Some(current.saturating_sub(memory.cache.unwrap_or(0)));
        row.page_cache_bytes = memory.cache;
    }
    if let (Some(new), Some(old)) = (&now.usage.io, &then.usage.io) {
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        row.disk_read_bytes_s = Some(rate(new.read_bytes, old.read_bytes));
        row.disk_write_bytes_s = Some(rate(new.written_bytes, old.written_bytes));
    }
    if let (Some(new), Some(old)) = (&now.usage.throttling, &then.usage.throttling) {
        row.throttled_s = Some(new.time.saturating_sub(old.time).as_secs_f64() / seconds);
    }
    if let (Some(new), Some(old)) = (now.run_delay, then.run_delay) {
        row.run_delay_s = Some(new.since(old).as_secs_f64() / seconds);
    }
    let waited = |new: Option<Pressure>, old: Option<Pressure>| {
        let (new, old) = new.zip(old)?;
        Some(new.some.saturating_sub(old.some).as_secs_f64() / seconds * 100.0)
    };
    row.psi_cpu = waited(now.usage.pressure.cpu, then.usage.pressure.cpu);
    row.psi_memory = waited(now.usage.pressure.memory, then.usage.pressure.memory);
    row.psi_io = waited(now.usage.pressure.io, then.usage.pressure.io);
    if let (Some(new), Some(old)) = (&now.net, &then.net) {
        let series = new.since(old);
        row.net_rx_bytes_s = Some(series.received_bytes_per_s);
        row.net_tx_bytes_s = Some(series.sent_bytes_per_s);
        row.net_rx_packets_s = Some(series.received_packets_per_s);
        row.net_tx_packets_s = Some(series.sent_packets_per_s);
        row.tcp_retransmits = series.tcp_retransmits;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_read_where_there_is_no_group() {
        let accounts = Accounts { pid: Some(std::process::id()), ..Accounts::default() };
        let mut probe = PartProbe::new("p", true, &accounts, true, Nanos::ZERO);
        let from = probe.mark();
        let row = probe.sample(Nanos::from_secs(1));
        assert!(row.rss_bytes.is_some_and(|bytes| bytes > 0) && row.cores().is_some());
        assert_eq!((row.subject.as_str(), row.net_rx_bytes_s), ("p", None));
        assert!(row.run_delay_s.is_some_and(|delay| delay >= 0.0));
        assert!(probe.since(&from).cores().is_some());
    }

    #[test]
    fn a_part_of_which_nothing_is_known_has_an_empty_row() {
        let mut probe = PartProbe::new("p", false, &Accounts::default(), true, Nanos::ZERO);
        assert_eq!(probe.sample(Nanos::from_secs(1)).cores(), None);
    }

    #[test]
    fn what_was_used_before_a_new_start_stays_in_the_sum() {
        use std::time::Duration;
        let mut probe = PartProbe::new("p", true, &Accounts::default(), true, Nanos::ZERO);
        let total = Duration::from_millis(700);
        probe.last.usage.cpu = Some(Cpu { total, user: None, system: None });
        probe.last.usage.io = Some(Io { read_bytes: 5, written_bytes: 7 });
        let from = probe.mark();
        // Killed: nothing can be read, and nothing is lost.
        assert_eq!(probe.sample(Nanos::from_secs(1)).cores(), Some(0.0));
        probe.started_again(&Accounts::default());
        assert_eq!(probe.since(&from).cores(), Some(0.0));
        let pressure = Pressures { io: Some(Pressure { some: total, full: None }), ..Pressures::default() };
        let fresh = Usage {
            cpu: Some(Cpu { total, user: None, system: None }),
            io: Some(Io { read_bytes: 1, written_bytes: 1 }),
            pressure,
            ..Usage::default()
        };
        let sum = summed(fresh, &probe.before.group, &probe.last.usage);
        assert_eq!(sum.cpu.map(|cpu| cpu.total), Some(total * 2));
        assert_eq!(sum.io, Some(Io { read_bytes: 6, written_bytes: 8 }));
        assert_eq!(sum.pressure.io, pressure.io);
    }

    #[test]
    fn a_group_counts_for_more_than_the_process() {
        use barograph_cgroup::Memory;
        use std::time::Duration;
        let at = |s, cpu_ms, system_ms| PartSample {
            at: Nanos::from_secs(s),
            usage: Usage {
                cpu: Some(Cpu {
                    total: Duration::from_millis(cpu_ms),
                    user: None,
                    system: Some(Duration::from_millis(system_ms)),
                }),
                memory: Some(Memory { current: Some(1000), cache: Some(400), ..Memory::default() }),
                ..Usage::default()
            },
            process: None,
            run_delay: Some(Nanos::from_millis(s * 100)),
            net: None,
        };
        let row = between(&at(1, 100, 50), &at(3, 1_100, 450));
        assert_eq!((row.cpu_user_cores, row.cpu_system_cores), (Some(0.3), Some(0.2)));
        assert_eq!((row.rss_bytes, row.page_cache_bytes), (Some(600), Some(400)));
        assert_eq!(row.run_delay_s, Some(0.1), "200 ms in 2 s");
    }
}
