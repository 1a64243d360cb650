//! Rates from two samples: pure arithmetic, and named columns for the record.

use barograph_model::{Nanos, Share};

use crate::text::{DiskTotals, NetTotals, Pressure};
use crate::{HostSample, ProcessSample};

/// Traffic per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetRates {
    /// Bytes received per second.
    pub received_bytes_per_s: f64,
    /// Bytes sent per second.
    pub sent_bytes_per_s: f64,
    /// Packets received per second.
    pub received_packets_per_s: f64,
    /// Packets sent per second.
    pub sent_packets_per_s: f64,
    /// Packets dropped per second.
    pub dropped_packets_per_s: f64,
}

/// Disk work per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskRates {
    /// Completed reads per second.
    pub reads_per_s: f64,
    /// Completed writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
    /// Mean number of busy disks.
    pub busy_disks: f64,
}

/// Share of the time between two samples in which at least one task waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PressureRates {
    /// For CPU.
    pub cpu: Option<Share>,
    /// For memory.
    pub memory: Option<Share>,
    /// For disks.
    pub io: Option<Share>,
}

/// The host between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostRates {
    /// Seconds between the samples.
    pub seconds: f64,
    /// Cores busy in user mode.
    pub cpu_user_cores: f64,
    /// Cores busy in the kernel.
    pub cpu_system_cores: f64,
    /// Cores busy with interrupts.
    pub cpu_irq_cores: f64,
    /// Cores taken by the hypervisor.
    pub cpu_steal_cores: f64,
    /// Cores idle while waiting for a disk.
    pub cpu_iowait_cores: f64,
    /// Cores idle.
    pub cpu_idle_cores: f64,
    /// Busy share of all cores: user, system and interrupts relative to all counted time.
    pub cpu_busy: Share,
    /// Memory not available to new programs at the end, bytes.
    pub memory_used_bytes: u64,
    /// Loopback traffic.
    pub loopback: Option<NetRates>,
    /// Traffic of the other interfaces.
    pub network: Option<NetRates>,
    /// Disk work.
    pub disk: Option<DiskRates>,
    /// TCP segments retransmitted per second.
    pub tcp_retransmits_per_s: Option<f64>,
    /// Pressure on resources.
    pub pressure: PressureRates,
}

/// A process between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessRates {
    /// Seconds between the samples.
    pub seconds: f64,
    /// Cores busy in user mode.
    pub cpu_user_cores: f64,
    /// Cores busy in the kernel.
    pub cpu_system_cores: f64,
    /// Resident memory at the end, bytes.
    pub resident_bytes: u64,
    /// Threads at the end.
    pub threads: u64,
    /// Open files at the end, if they were counted.
    pub open_files: Option<u64>,
    /// Number of times per second that a thread gave up its core.
    pub voluntary_switches_per_s: f64,
    /// Number of times per second that a thread lost its core.
    pub involuntary_switches_per_s: f64,
}

/// Divides differences by the time between two samples; without time there is no rate.
#[derive(Clone, Copy)]
struct Span {
    seconds: f64,
}

impl Span {
    fn between(from: Nanos, to: Nanos) -> Span {
        Span { seconds: to.since(from).as_secs_f64() }
    }

    fn per_s(self, from: u64, to: u64) -> f64 {
        self.divide(to.saturating_sub(from) as f64)
    }

    /// CPU seconds per second, which are cores.
    fn cores(self, from: Nanos, to: Nanos) -> f64 {
        self.divide(to.since(from).as_secs_f64())
    }

    fn divide(self, amount: f64) -> f64 {
        if self.seconds > 0.0 { amount / self.seconds } else { 0.0 }
    }

    fn net(self, from: Option<NetTotals>, to: Option<NetTotals>) -> Option<NetRates> {
        let (a, b) = (from?, to?);
        Some(NetRates {
            received_bytes_per_s: self.per_s(a.received_bytes, b.received_bytes),
            sent_bytes_per_s: self.per_s(a.sent_bytes, b.sent_bytes),
            received_packets_per_s: self.per_s(a.received_packets, b.received_packets),
            sent_packets_per_s: self.per_s(a.sent_packets, b.sent_packets),
            dropped_packets_per_s: self.per_s(a.dropped_packets, b.dropped_packets),
        })
    }

    fn disk(self, from: Option<DiskTotals>, to: Option<DiskTotals>) -> Option<DiskRates> {
        let (a, b) = (from?, to?);
        Some(DiskRates {
            reads_per_s: self.per_s(a.reads, b.reads),
            writes_per_s: self.per_s(a.writes, b.writes),
            read_bytes_per_s: self.per_s(a.read_bytes, b.read_bytes),
            written_bytes_per_s: self.per_s(a.written_bytes, b.written_bytes),
            busy_disks: self.cores(a.busy, b.busy),
        })
    }

    /// From the stalled time, not from the kernel's average, which includes time before the first sample.
    fn pressure(self, from: Option<Pressure>, to: Option<Pressure>) -> Option<Share> {
        let (a, b) = (from?, to?);
        Share::new(self.cores(a.stalled, b.stalled).min(1.0)).ok()
    }
}

impl HostRates {
    pub(crate) fn between(a: &HostSample, b: &HostSample) -> HostRates {
        let span = Span::between(a.at, b.at);
        let user = b.cpu.user.since(a.cpu.user);
        let system = b.cpu.system.since(a.cpu.system);
        let irq = b.cpu.irq.since(a.cpu.irq);
        let (idle, iowait) = (b.cpu.idle.since(a.cpu.idle), b.cpu.iowait.since(a.cpu.iowait));
        let steal = b.cpu.steal.since(a.cpu.steal);
        let busy = (user + system + irq).as_secs_f64();
        let all = busy + (idle + iowait + steal).as_secs_f64();
        HostRates {
            seconds: span.seconds,
            cpu_user_cores: span.divide(user.as_secs_f64()),
            cpu_system_cores: span.divide(system.as_secs_f64()),
            cpu_irq_cores: span.divide(irq.as_secs_f64()),
            cpu_steal_cores: span.divide(steal.as_secs_f64()),
            cpu_iowait_cores: span.divide(iowait.as_secs_f64()),
            cpu_idle_cores: span.divide(idle.as_secs_f64()),
            cpu_busy: if all > 0.0 { Share::new(busy / all).unwrap_or_default() } else { Share::ZERO },
            memory_used_bytes: b.memory.total_bytes.saturating_sub(b.memory.available_bytes),
            loopback: span.net(a.loopback, b.loopback),
            network: span.net(a.network, b.network),
            disk: span.disk(a.disk, b.disk),
            tcp_retransmits_per_s: a.tcp_retransmits.zip(b.tcp_retransmits).map(|(x, y)| span.per_s(x, y)),
            pressure: PressureRates {
                cpu: span.pressure(a.cpu_pressure, b.cpu_pressure),
                memory: span.pressure(a.memory_pressure, b.memory_pressure),
                io: span.pressure(a.io_pressure, b.io_pressure),
            },
        }
    }

    /// Returns names (with units) and values for a table; a figure that this host lacks is `None`.
    #[must_use]
    pub fn columns(&self) -> Vec<(&'static str, Option<f64>)> {
        let (lo, net, disk) = (self.loopback.as_ref(), self.network.as_ref(), self.disk.as_ref());
        vec![
            ("cpu_user_cores", Some(self.cpu_user_cores)),
            ("cpu_system_cores", Some(self.cpu_system_cores)),
            ("cpu_irq_cores", Some(self.cpu_irq_cores)),
            ("cpu_steal_cores", Some(self.cpu_steal_cores)),
            ("cpu_iowait_cores", Some(self.cpu_iowait_cores)),
            ("cpu_idle_cores", Some(self.cpu_idle_cores)),
            ("cpu_busy_share", Some(self.cpu_busy.get())),
            ("memory_used_bytes", Some(self.memory_used_bytes as f64)),
            ("loopback_received_bytes_per_s", lo.map(|n| n.received_bytes_per_s)),
            ("loopback_received_packets_per_s", lo.map(|n| n.received_packets_per_s)),
            ("network_received_bytes_per_s", net.map(|n| n.received_bytes_per_s)),
            ("network_sent_bytes_per_s", net.map(|n| n.sent_bytes_per_s)),
            ("network_dropped_packets_per_s", net.map(|n| n.dropped_packets_per_s)),
            ("disk_reads_per_s", disk.map(|d| d.reads_per_s)),
            ("disk_writes_per_s", disk.map(|d| d.writes_per_s)),
            ("disk_read_bytes_per_s", disk.map(|d| d.read_bytes_per_s)),
            ("disk_written_bytes_per_s", disk.map(|d| d.written_bytes_per_s)),
            ("disk_busy_disks", disk.map(|d| d.busy_disks)),
            ("tcp_retransmits_per_s", self.tcp_retransmits_per_s),
            ("cpu_pressure_share", self.pressure.cpu.map(Share::get)),
            ("memory_pressure_share", self.pressure.memory.map(Share::get)),
            ("io_pressure_share", self.pressure.io.map(Share::get)),
        ]
    }
}

impl ProcessRates {
    pub(crate) fn between(a: &ProcessSample, b: &ProcessSample) -> ProcessRates {
        let span = Span::between(a.at, b.at);
        ProcessRates {
            seconds: span.seconds,
            cpu_user_cores: span.cores(a.cpu_user, b.cpu_user),
            cpu_system_cores: span.cores(a.cpu_system, b.cpu_system),
            resident_bytes: b.resident_bytes,
            threads: b.threads,
            open_files: b.open_files,
            voluntary_switches_per_s: span.per_s(a.voluntary_switches, b.voluntary_switches),
            involuntary_switches_per_s: span.per_s(a.involuntary_switches, b.involuntary_switches),
        }
    }

    /// Returns names (with units) and values for a table; a figure that was not taken is `None`.
    #[must_use]
    pub fn columns(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![
            ("cpu_user_cores", Some(self.cpu_user_cores)),
            ("cpu_system_cores", Some(self.cpu_system_cores)),
            ("resident_bytes", Some(self.resident_bytes as f64)),
            ("threads", Some(self.threads as f64)),
            ("open_files", self.open_files.map(|n| n as f64)),
            ("voluntary_switches_per_s", Some(self.voluntary_switches_per_s)),
            ("involuntary_switches_per_s", Some(self.involuntary_switches_per_s)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuTimes, Memory};

    fn host(at_s: u64, factor: u64) -> HostSample {
        let ms = |n: u64| Nanos::from_millis(n * factor);
        HostSample {
            at: Nanos::from_secs(at_s),
            cores: 2,
            cpu: CpuTimes {
                user: ms(1000),
                system: ms(500),
                irq: ms(100),
                idle: ms(2000),
                iowait: ms(300),
                steal: ms(100),
            },
            memory: Memory { total_bytes: 100, available_bytes: 40, ..Memory::default() },
            loopback: Some(NetTotals { received_bytes: 80 * factor, ..NetTotals::default() }),
            disk: Some(DiskTotals { writes: 6 * factor, busy: ms(1000), ..DiskTotals::default() }),
            tcp_retransmits: Some(4 * factor),
            cpu_pressure: Some(Pressure { avg10: Share::ONE, stalled: ms(500) }),
            ..HostSample::default()
        }
    }

    #[test]
    fn rates_are_differences_over_seconds() {
        let rates = host(12, 2).since(&host(10, 1));
        assert_eq!(rates.seconds, 2.0);
        assert_eq!((rates.cpu_user_cores, rates.cpu_system_cores), (0.5, 0.25));
        assert_eq!((rates.cpu_idle_cores, rates.cpu_steal_cores), (1.0, 0.05));
        assert_eq!(rates.cpu_busy, Share::percent(40.0));
        assert_eq!(rates.memory_used_bytes, 60);
        assert_eq!(rates.loopback.unwrap().received_bytes_per_s, 40.0);
        assert_eq!((rates.disk.unwrap().writes_per_s, rates.disk.unwrap().busy_disks), (3.0, 0.5));
        assert_eq!(rates.tcp_retransmits_per_s, Some(2.0));
        assert_eq!((rates.pressure.cpu, rates.pressure.io), (Share::new(0.25).ok(), None));
        assert_eq!(rates.network, None, "what was never seen has no rate");
    }

    #[test]
    fn no_time_and_falling_counters_make_zero_never_infinity() {
        for rates in [host(10, 2).since(&host(10, 1)), host(12, 1).since(&host(10, 2))] {
            let finite = |(_, v): &(&str, Option<f64>)| v.is_none_or(|v| v.is_finite() && v >= 0.0);
            assert!(rates.columns().iter().all(finite), "{rates:?}");
            assert_eq!((rates.cpu_user_cores, rates.tcp_retransmits_per_s), (0.0, Some(0.0)));
        }
    }

    #[test]
    fn a_process_has_cores_and_switches() {
        let early =
            ProcessSample { at: Nanos::from_secs(1), voluntary_switches: 10, ..ProcessSample::default() };
        let late = ProcessSample {
            at: Nanos::from_secs(5),
            cpu_user: Nanos::from_secs(6),
            cpu_system: Nanos::from_secs(1),
            resident_bytes: 4096,
            threads: 3,
            open_files: None,
            voluntary_switches: 50,
            involuntary_switches: 4,
        };
        let rates = late.since(&early);
        assert_eq!((rates.cpu_user_cores, rates.cpu_system_cores), (1.5, 0.25));
        assert_eq!((rates.voluntary_switches_per_s, rates.involuntary_switches_per_s), (10.0, 1.0));
        let columns = rates.columns();
        assert_eq!(columns[2], ("resident_bytes", Some(4096.0)));
        assert_eq!(columns[4], ("open_files", None));
    }
}
