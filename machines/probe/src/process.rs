//! One process as a series: CPU, memory, threads, open files and context switches.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use barograph_model::Nanos;

use crate::hot::HotFile;
use crate::{ProbeError, ProcessRates, text};

/// Number of samples per count of open files on kernels before 6.2, where counting means listing them, which
/// is costly for ten thousand connections.
const LIST_OPEN_FILES_EVERY: u64 = 10;

/// Raw counters of a process at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// Time of the sample, given by the caller.
    pub at: Nanos,
    /// CPU time in user mode, including ended threads, in steps of a hundredth of a second.
    pub cpu_user: Nanos,
    /// CPU time in the kernel, including ended threads.
    pub cpu_system: Nanos,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
    /// Living threads.
    pub threads: u64,
    /// Open files, if they were counted.
    pub open_files: Option<u64>,
    /// Number of times a thread gave up its core, since the probe was made.
    pub voluntary_switches: u64,
    /// Number of times a thread lost its core, since the probe was made.
    pub involuntary_switches: u64,
}

impl ProcessSample {
    /// Returns the rates between `earlier` and this sample.
    #[must_use]
    pub fn since(&self, earlier: &ProcessSample) -> ProcessRates {
        ProcessRates::between(earlier, self)
    }
}

/// Reads the counters of one process.
///
/// The open files belong to the process, not to its number: if the number is reused, the probe reports that
/// its process is gone.
#[derive(Debug)]
pub struct ProcessProbe {
    pid: u32,
    hz: u64,
    page_bytes: u64,
    dir: PathBuf,
    stat: HotFile,
    statm: HotFile,
    switches: Switches,
    samples: u64,
}

impl ProcessProbe {
    /// Watches the process `pid`.
    pub fn new(pid: u32) -> Result<Self, ProbeError> {
        let dir = PathBuf::from(format!("/proc/{pid}"));
        let open = |name: &str| HotFile::open(dir.join(name)).map_err(|e| gone_if_absent(e, pid));
        let (stat, statm) = (open("stat")?, open("statm")?);
        let mut probe = ProcessProbe {
            pid,
            hz: rustix::param::clock_ticks_per_second(),
            page_bytes: rustix::param::page_size() as u64,
            stat,
            statm,
            switches: Switches::default(),
            samples: 0,
            dir,
        };
        probe.switches.read(&probe.dir);
        probe.switches.forget_totals();
        Ok(probe)
    }

    /// Watches the calling process.
    pub fn of_this_process() -> Result<Self, ProbeError> {
        ProcessProbe::new(std::process::id())
    }

    /// Returns the watched process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Takes a sample; `now` is the time of the caller's clock. An ended process is [`ProbeError::Gone`],
    /// even before its exit status is collected.
    pub fn sample(&mut self, now: Nanos) -> Result<ProcessSample, ProbeError> {
        let (pid, hz) = (self.pid, self.hz);
        let stat = self
            .stat
            .parse("process times", |t| text::process_stat(t, hz))
            .map_err(|e| gone_if_absent(e, pid))?;
        // The first thread may have ended while others continue: then the process is not gone.
        if matches!(stat.state, 'Z' | 'X') && stat.threads <= 1 {
            return Err(ProbeError::Gone { pid });
        }
        let pages =
            self.statm.parse("resident pages", text::resident_pages).map_err(|e| gone_if_absent(e, pid))?;
        self.switches.read(&self.dir);
        let open_files = self.open_files();
        self.samples += 1;
        Ok(ProcessSample {
            at: now,
            cpu_user: stat.user,
            cpu_system: stat.system,
            resident_bytes: pages.saturating_mul(self.page_bytes),
            threads: stat.threads,
            open_files,
            voluntary_switches: self.switches.voluntary,
            involuntary_switches: self.switches.involuntary,
        })
    }

    /// New kernels give the number as the size of the folder; on older ones the folder is listed
    /// occasionally.
    fn open_files(&self) -> Option<u64> {
        let dir = self.dir.join("fd");
        match fs::metadata(&dir).ok()?.len() {
            0 if self.samples.is_multiple_of(LIST_OPEN_FILES_EVERY) => {
                Some(fs::read_dir(&dir).ok()?.count() as u64)
            }
            0 => None,
            counted => Some(counted),
        }
    }
}

/// A missing process shows as a missing file, or as "no such process" from a file opened before.
fn gone_if_absent(error: ProbeError, pid: u32) -> ProbeError {
    match &error {
        ProbeError::Read { source, .. }
            if source.kind() == io::ErrorKind::NotFound
                || source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
        {
            ProbeError::Gone { pid }
        }
        _ => error,
    }
}

/// Context switches of all threads. The kernel reports them per thread only, and forgets a thread that ends,
/// so differences are added up here.
#[derive(Debug, Default)]
struct Switches {
    seen: BTreeMap<u32, (u64, u64)>,
    voluntary: u64,
    involuntary: u64,
}

impl Switches {
    fn read(&mut self, process: &std::path::Path) {
        let Ok(threads) = fs::read_dir(process.join("task")) else { return };
        let mut now = BTreeMap::new();
        for thread in threads.flatten() {
            let id = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            let counted = fs::read_to_string(thread.path().join("status"))
                .ok()
                .and_then(|t| text::context_switches(&t));
            if let (Some(id), Some(counted)) = (id, counted) {
                now.insert(id, counted);
            }
        }
        self.add(now);
    }

    fn add(&mut self, now: BTreeMap<u32, (u64, u64)>) {
        for (id, &(voluntary, involuntary)) in &now {
            // Fewer than before: another thread got the number.
            let before = self.seen.get(id).filter(|b| b.0 <= voluntary && b.1 <= involuntary);
            let &(v, i) = before.unwrap_or(&(0, 0));
            self.voluntary += voluntary - v;
            self.involuntary += involuntary - i;
        }
        self.seen = now;
    }

    fn forget_totals(&mut self) {
        (self.voluntary, self.involuntary) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_cpu;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_is_seen_with_its_dead_threads() {
        let mut probe = ProcessProbe::of_this_process().unwrap();
        let first = probe.sample(Nanos::ZERO).unwrap();
        std::thread::spawn(|| {
            let start = process_cpu();
            while process_cpu().since(start) < Nanos::from_millis(60) {
                std::hint::spin_loop();
            }
        })
        .join()
        .unwrap();
        let second = probe.sample(Nanos::from_secs(1)).unwrap();
        let cpu = |s: &ProcessSample| s.cpu_user + s.cpu_system;
        assert!(cpu(&second).since(cpu(&first)) >= Nanos::from_millis(30));
        assert!(first.resident_bytes > 100_000 && first.threads >= 1);
        assert!(first.open_files.unwrap() >= 3);
        assert!(second.voluntary_switches >= first.voluntary_switches);
    }

    #[test]
    fn an_ended_process_is_gone_before_and_after_it_is_collected() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut probe = ProcessProbe::new(child.id()).unwrap();
        assert!(probe.sample(Nanos::ZERO).unwrap().threads >= 1);
        child.kill().unwrap();
        let ended =
            (0..1_000_000).find_map(|_| probe.sample(Nanos::ZERO).err()).expect("a killed process ends");
        assert!(matches!(ended, ProbeError::Gone { pid } if pid == child.id()), "{ended}");
        child.wait().unwrap();
        assert!(matches!(probe.sample(Nanos::ZERO), Err(ProbeError::Gone { .. })));
        assert!(matches!(ProcessProbe::new(child.id()), Err(ProbeError::Gone { .. })));
        assert_eq!(probe.pid(), child.id());
    }

    #[test]
    fn switches_survive_the_end_of_a_thread_and_a_reused_number() {
        let mut switches = Switches::default();
        switches.add(BTreeMap::from([(1, (10, 1)), (2, (5, 5))]));
        switches.add(BTreeMap::from([(1, (12, 1))]));
        switches.add(BTreeMap::from([(1, (12, 2)), (2, (3, 0))]));
        assert_eq!((switches.voluntary, switches.involuntary), (20, 7));
        switches.add(BTreeMap::from([(2, (1, 0))]));
        assert_eq!(switches.voluntary, 21);
    }
}
