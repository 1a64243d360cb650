//! Resource use of a group, parsed from the kernel's files.

use std::time::Duration;

/// Resource use of a group since it was created. Figures that the kernel does not report are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time, including ended processes.
    pub cpu: Option<Cpu>,
    /// Waits for its limit of CPU time.
    pub throttling: Option<Throttling>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Block devices.
    pub io: Option<Io>,
    /// Number of living threads.
    pub pids: Option<u64>,
    /// Time in which processes of the group waited.
    pub pressure: Pressures,
}

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Total.
    pub total: Duration,
    /// In user mode.
    pub user: Option<Duration>,
    /// In the kernel.
    pub system: Option<Duration>,
}

/// Waits for the limit of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttling {
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which it used up its share.
    pub throttled: u64,
    /// Time that it waited, summed over cores.
    pub time: Duration,
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// In use, page cache included.
    pub current: Option<u64>,
    /// Largest amount in use.
    pub peak: Option<u64>,
    /// Page cache.
    pub cache: Option<u64>,
    /// Processes killed because the limit was reached.
    pub out_of_memory_kills: Option<u64>,
}

/// Bytes from and to all block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Io {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written. Version 1 counts only synchronous writes.
    pub written_bytes: u64,
}

/// Pressure on the three resources of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressures {
    /// For CPU.
    pub cpu: Option<Pressure>,
    /// For memory.
    pub memory: Option<Pressure>,
    /// For a block device.
    pub io: Option<Pressure>,
}

/// Time in which processes waited for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// At least one process waited.
    pub some: Duration,
    /// All processes waited.
    pub full: Option<Duration>,
}

impl Usage {
    /// Parses texts of [`crate::Meter::texts`], possibly from another machine.
    #[must_use]
    pub fn of_texts(texts: &[(String, String)]) -> Usage {
        let mut usage = Usage::default();
        for (file, text) in texts {
            usage.take_in(file, text);
        }
        usage
    }

    /// Adds a file of a group. Figures of earlier files stay.
    pub(crate) fn take_in(&mut self, file: &str, text: &str) {
        match file {
            "cpu.stat" => self.take_in_cpu_stat(text),
            "cpuacct.usage" => self.set_cpu(number(text).map(Duration::from_nanos), None, None),
            "cpuacct.usage_user" => self.set_cpu(None, number(text).map(Duration::from_nanos), None),
            "cpuacct.usage_sys" => self.set_cpu(None, None, number(text).map(Duration::from_nanos)),
            "memory.current" | "memory.usage_in_bytes" => self.memory_mut(|m| &mut m.current, number(text)),
            "memory.peak" | "memory.max_usage_in_bytes" => self.memory_mut(|m| &mut m.peak, number(text)),
            "memory.stat" => {
                // Shared memory is counted among the files, but is memory of programs.
                let less =
                    |all: Option<u64>, shared| Some(all?.saturating_sub(keyed(text, shared).unwrap_or(0)));
                let version_1 = || less(keyed(text, "total_cache"), "total_shmem");
                let cache = less(keyed(text, "file"), "shmem").or_else(version_1);
                self.memory_mut(|m| &mut m.cache, cache);
            }
            "memory.events" | "memory.oom_control" => {
                self.memory_mut(|m| &mut m.out_of_memory_kills, keyed(text, "oom_kill"));
            }
            "io.stat" => self.io = self.io.or_else(|| Some(io_version_2(text))),
            "blkio.throttle.io_service_bytes_recursive" => {
                self.io = self.io.or_else(|| Some(io_version_1(text)))
            }
            "pids.current" => self.pids = self.pids.or_else(|| number(text)),
            "cpu.pressure" => self.pressure.cpu = self.pressure.cpu.or_else(|| pressure(text)),
            "memory.pressure" => self.pressure.memory = self.pressure.memory.or_else(|| pressure(text)),
            "io.pressure" => self.pressure.io = self.pressure.io.or_else(|| pressure(text)),
            _ => {}
        }
    }

    /// Version 2 has times in microseconds here; version 1 only the waits, in nanoseconds.
    fn take_in_cpu_stat(&mut self, text: &str) {
        let micros = |key| keyed(text, key).map(Duration::from_micros);
        self.set_cpu(micros("usage_usec"), micros("user_usec"), micros("system_usec"));
        let time =
            micros("throttled_usec").or_else(|| keyed(text, "throttled_time").map(Duration::from_nanos));
        if let (None, Some(periods), Some(throttled), Some(time)) =
            (self.throttling, keyed(text, "nr_periods"), keyed(text, "nr_throttled"), time)
        {
            self.throttling = Some(Throttling { periods, throttled, time });
        }
    }

    /// The parts are set only together with the total, so that they are consistent.
    fn set_cpu(&mut self, total: Option<Duration>, user: Option<Duration>, system: Option<Duration>) {
        match (&mut self.cpu, total) {
            (None, Some(total)) => self.cpu = Some(Cpu { total, user, system }),
            (Some(cpu), None) => {
                cpu.user = cpu.user.or(user);
                cpu.system = cpu.system.or(system);
            }
            _ => {}
        }
    }

    fn memory_mut(&mut self, part: impl Fn(&mut Memory) -> &mut Option<u64>, value: Option<u64>) {
        if let Some(value) = value {
            part(self.memory.get_or_insert_default()).get_or_insert(value);
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Number after `key` on a line of its own.
fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| number(line.strip_prefix(key)?.strip_prefix(' ')?))
}

/// Lines: `254:0 rbytes=1 wbytes=2 rios=3 ...`.
fn io_version_2(text: &str) -> Io {
    let sum = |key: &str| {
        let values = text.split_ascii_whitespace().filter_map(|word| number(word.strip_prefix(key)?));
        values.fold(0_u64, u64::saturating_add)
    };
    Io { read_bytes: sum("rbytes="), written_bytes: sum("wbytes=") }
}

/// Lines: `254:0 ReadResult 1`, and a last one with the total of all.
fn io_version_1(text: &str) -> Io {
    let sum = |kind: &str| {
        let lines = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace().skip(1);
            (words.next()? == kind).then(|| number(words.next()?)).flatten()
        });
        lines.fold(0_u64, u64::saturating_add)
    };
    Io { read_bytes: sum("Read"), written_bytes: sum("Write") }
}

/// Lines: `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, microseconds, and the same with `full`.
fn pressure(text: &str) -> Option<Pressure> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.split_ascii_whitespace().find_map(|word| number(word.strip_prefix("total=")?))
    };
    Some(Pressure {
        some: Duration::from_micros(total("some")?),
        full: total("full").map(Duration::from_micros),
    })
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
