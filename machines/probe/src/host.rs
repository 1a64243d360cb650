//! The host as a series: work of all its cores, disks and networks.

use std::fs;
use std::path::Path;

use barograph_model::Nanos;

use crate::hot::HotFile;
use crate::text::{self, CpuTimes, DiskTotals, Memory, NetTotals, Pressure};
use crate::{HostRates, ProbeError};

/// Raw counters of the host at one instant.
///
/// Counters that this kernel or container does not show are `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostSample {
    /// Time of the sample, given by the caller.
    pub at: Nanos,
    /// Number of online cores.
    pub cores: u32,
    /// CPU time since the start of the machine.
    pub cpu: CpuTimes,
    /// Current memory use.
    pub memory: Memory,
    /// Traffic of the loopback interface.
    pub loopback: Option<NetTotals>,
    /// Traffic of all other interfaces together.
    pub network: Option<NetTotals>,
    /// Work of the whole disks together.
    pub disk: Option<DiskTotals>,
    /// TCP segments retransmitted since the start of the network namespace.
    pub tcp_retransmits: Option<u64>,
    /// Pressure on CPU.
    pub cpu_pressure: Option<Pressure>,
    /// Pressure on memory.
    pub memory_pressure: Option<Pressure>,
    /// Pressure on disks.
    pub io_pressure: Option<Pressure>,
}

impl HostSample {
    /// Returns the rates between `earlier` and this sample.
    #[must_use]
    pub fn since(&self, earlier: &HostSample) -> HostRates {
        HostRates::between(earlier, self)
    }

    /// Parses texts of another machine's kernel: `text` returns that of a file below `/proc`, `hz` is the
    /// number of ticks of CPU time per second there, and `disks` its whole disks. `None` without CPU times
    /// and memory.
    pub fn of_texts<'t>(
        at: Nanos,
        hz: u64,
        disks: &[String],
        text: impl Fn(&str) -> Option<&'t str>,
    ) -> Option<HostSample> {
        let stat = text("stat")?;
        let net = text("net/dev").and_then(text::network);
        let pressure = |file| text(file).and_then(text::pressure);
        Some(HostSample {
            at,
            cores: text::cores(stat),
            cpu: text::cpu_times(stat, hz)?,
            memory: text("meminfo").and_then(text::memory)?,
            loopback: net.map(|(loopback, _)| loopback),
            network: net.map(|(_, others)| others),
            disk: text("diskstats").and_then(|text| text::disks(text, disks)),
            tcp_retransmits: text("net/snmp").and_then(text::tcp_retransmits),
            cpu_pressure: pressure("pressure/cpu"),
            memory_pressure: pressure("pressure/memory"),
            io_pressure: pressure("pressure/io"),
        })
    }
}

/// Reads the counters of this host.
#[derive(Debug)]
pub struct HostProbe {
    hz: u64,
    disks: Vec<String>,
    stat: HotFile,
    meminfo: HotFile,
    net: Option<HotFile>,
    diskstats: Option<HotFile>,
    snmp: Option<HotFile>,
    pressure: [Option<HotFile>; 3],
}

impl HostProbe {
    /// Opens the kernel's files. CPU and memory must exist; the others are used if they exist.
    pub fn new() -> Result<Self, ProbeError> {
        Ok(HostProbe {
            hz: rustix::param::clock_ticks_per_second(),
            disks: whole_disks(),
            stat: HotFile::open("/proc/stat")?,
            meminfo: HotFile::open("/proc/meminfo")?,
            net: HotFile::open_if_present("/proc/net/dev"),
            diskstats: HotFile::open_if_present("/proc/diskstats"),
            snmp: HotFile::open_if_present("/proc/net/snmp"),
            pressure: ["cpu", "memory", "io"]
                .map(|name| HotFile::open_if_present(Path::new("/proc/pressure").join(name))),
        })
    }

    /// Takes a sample; `now` is the time of the caller's clock.
    pub fn sample(&mut self, now: Nanos) -> Result<HostSample, ProbeError> {
        let hz = self.hz;
        let (cpu, cores) =
            self.stat.parse("cpu times", |t| Some((text::cpu_times(t, hz)?, text::cores(t))))?;
        let memory = self.meminfo.parse("memory", text::memory)?;
        let net = optional(&mut self.net, text::network);
        let disks = &self.disks;
        let [cpu_file, memory_file, io_file] = &mut self.pressure;
        Ok(HostSample {
            at: now,
            cores,
            cpu,
            memory,
            loopback: net.map(|(loopback, _)| loopback),
            network: net.map(|(_, others)| others),
            disk: optional(&mut self.diskstats, |t| text::disks(t, disks)),
            tcp_retransmits: optional(&mut self.snmp, text::tcp_retransmits),
            cpu_pressure: optional(cpu_file, text::pressure),
            memory_pressure: optional(memory_file, text::pressure),
            io_pressure: optional(io_file, text::pressure),
        })
    }
}

/// An existing file may refuse to be read (pressure disabled at boot), and then counts as absent.
fn optional<T>(file: &mut Option<HotFile>, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    file.as_mut()?.parse("figures", parse).ok()
}

/// Returns disks with a device behind them: partitions are not listed there, and loop, ram, zram, md and dm
/// have no device, so nothing is counted twice.
#[must_use]
pub fn whole_disks() -> Vec<String> {
    disks_below(Path::new("/sys/block"))
}

fn disks_below(sys_block: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sys_block) else { return Vec::new() };
    let real = entries.flatten().filter(|e| e.path().join("device").exists());
    real.filter_map(|e| e.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_with_a_device_count() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("vda/device")).unwrap();
        fs::create_dir_all(root.path().join("loop0")).unwrap();
        assert_eq!(disks_below(root.path()), ["vda"]);
        assert!(disks_below(&root.path().join("absent")).is_empty());
    }

    #[test]
    fn texts_of_a_kernel_tell_what_the_probe_reads() {
        let mut probe = HostProbe::new().unwrap();
        let read = |name: &str| fs::read_to_string(Path::new("/proc").join(name)).ok();
        let names = ["stat", "meminfo", "net/dev", "diskstats", "net/snmp", "pressure/cpu"];
        let before = probe.sample(Nanos::ZERO).unwrap();
        let texts = names.map(|name| (name, read(name)));
        let after = probe.sample(Nanos::ZERO).unwrap();
        let text = |name: &str| texts.iter().find(|(known, _)| *known == name)?.1.as_deref();
        let hz = rustix::param::clock_ticks_per_second();
        let told = HostSample::of_texts(Nanos::ZERO, hz, &whole_disks(), text).unwrap();
        assert_eq!((told.cores, told.memory.total_bytes), (before.cores, before.memory.total_bytes));
        assert!(before.cpu.user <= told.cpu.user && told.cpu.user <= after.cpu.user);
        let received = |sample: &HostSample| sample.loopback.map(|net| net.received_bytes);
        assert!(received(&before) <= received(&told) && received(&told) <= received(&after));
        assert_eq!(told.disk.is_some(), before.disk.is_some());
        assert_eq!(told.cpu_pressure.is_some(), before.cpu_pressure.is_some());
        assert_eq!(HostSample::of_texts(Nanos::ZERO, hz, &[], |_| None), None);
    }

    #[test]
    fn this_host_is_sampled_twice_and_counters_do_not_fall() {
        let mut probe = HostProbe::new().unwrap();
        let first = probe.sample(Nanos::ZERO).unwrap();
        let mut second = first;
        // The kernel's tick is a hundredth of a second: reads until it has moved, with a bound.
        for _ in 0..2_000_000 {
            second = probe.sample(Nanos::from_secs(1)).unwrap();
            if second.cpu != first.cpu {
                break;
            }
        }
        assert_ne!(second.cpu, first.cpu, "time passes");
        assert!(second.cpu.user >= first.cpu.user && second.cpu.system >= first.cpu.system);
        assert!(first.cores >= 1);
        assert!(first.memory.available_bytes > 0 && first.memory.available_bytes < first.memory.total_bytes);
        assert!(second.since(&first).memory_used_bytes > 0);
    }
}
